"""Mistakes in objects and closures that contain others of their kind, in copies of dicts, and in trees."""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinygrad import Tensor

from branded import Axes, Brand, as_axes, cond, switch, tree, vmap

X, Y = Tensor.ones(4, 3), Tensor.ones(2, 3)


class Users(Brand): ...


class Items(Brand): ...


# --- a chain of layers that contains a chain
class Layer(abc.ABC):
    @abc.abstractmethod
    def forward(self, x: Tensor) -> Tensor: ...

    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)

    def __rshift__(self, other: "Layer") -> "Layer":
        return Chain([self, other])


@dataclass
class Chain(Layer):
    layers: list[Layer]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Linear(Layer):
    def __init__(self, n: int, m: int) -> None:
        self.weight = Tensor.rand(m, n)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight @ x  # E: @: the inner axes are `5` and `4`


class Scaled(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return x / x.max().item()  # E: item: a value that varies over "example" has no single value to read


vmap(Linear(3, 4) >> (Linear(4, 4) >> Linear(5, 2)))(X)
vmap(Linear(3, 4) >> Linear(4, 4) >> Scaled())(X)


# --- a composed function that is composed again
def compose(f: Callable[[Tensor], Tensor], g: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: g(f(x))


def widen(x: Tensor) -> Tensor:
    return x + Tensor.ones(5)  # E: +: `3` differs from `5`


vmap(compose(compose(Tensor.relu, Tensor.exp), compose(Tensor.relu, compose(Tensor.exp, widen))))(X)


# --- an argument that may be None, and is not
def shifted(x: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is not None:
        x = x + bias  # E: +: `3` differs from `4`
    return x


vmap(shifted, in_axes=(0, None))(X, Tensor.ones(4))


# --- a copy of a dict
class Limits:
    def __init__(self, limits: Mapping[str, Tensor]) -> None:
        self.limits = dict(limits)
        self.pairs = dict(zip(["low", "high"], [Y, Y], strict=True))

    def over(self, x: Tensor) -> Tensor:
        return vmap(lambda a, b: a > b)(x, self.limits["low"])  # E: mapped sizes differ

    def under(self, x: Tensor) -> Tensor:
        return vmap(lambda a, b: a < b)(x, self.pairs["high"])  # E: mapped sizes differ


Limits({"low": Y, "high": Y}).over(X)
Limits({}).under(X)

# --- branches of different shapes
vmap(lambda x: cond(x.sum() > 0, lambda v: v, lambda v: v.sum(), x))(X)  # E: cond: the branches return different
vmap(lambda x: switch(x[0].int(), [lambda v: v, lambda v: v[:2]], x))(X)  # E: switch: the branches return different

# --- an index that is not mapped
choices = Tensor([0, 1, 0, 1])
chosen = vmap(lambda i, x: switch(i, [lambda v: v, lambda v: -v], x), in_axes=(None, 0))  # E: switch: the index has
chosen(choices, X)

# --- trees of different structures
params = {"w": X, "b": Y}
tree.map(lambda a, b: a + b, params, params["w"])  # E: tree.map: tree 2 has another structure than the first one
tree.map(lambda a, b, c: a + b + c, params, params, {"w": X})  # E: tree.map: tree 3 has another structure

# --- a random sample, and no choice whether the examples share it
vmap(lambda x: x + Tensor.rand(3))(X)  # E: randomness: choose whether the examples of vmap over "x" share
vmap(lambda x: vmap(lambda y: y + Tensor.randn(3))(X) + x, randomness="same")(X)  # E: over "y" share


# --- an item of a declared tuple
def sums(x: Axes[Users, Items]) -> tuple[int, Axes[Users]]:
    return 1, total(x)  # E: sums: the result has the axes (Items:3,), and (Users,) is declared


def total(x: Tensor) -> Tensor:
    return x.sum(axis=0)


sums(as_axes(X, Users, Items))


# --- reads in a default, by a name, and in the length of an object
def nested(x: Tensor) -> Tensor:
    def scaled(by: float = x.sum().item()) -> Tensor:  # E: item: a value that varies over "x" has no single value
        return x * by

    return scaled()


class Sized:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __len__(self) -> int:
        return int(self.x.sum().item())  # E: item: a value that varies over "x" has no single value to read


def by_name(x: Tensor) -> Tensor:
    factor: float = getattr(x.sum(), "item")()  # noqa: B009  # E: item: a value that varies over "x" has no
    return x * factor


vmap(nested)(X)
vmap(by_name)(X)
vmap(lambda x: x * len(Sized(x)))(X)
