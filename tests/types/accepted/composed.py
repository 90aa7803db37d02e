"""Objects and closures that contain others of their kind, copies of dicts, trees and samples that are correct."""

from collections.abc import Callable, Mapping

from tinygrad import Tensor

from branded import cond, random, switch, tree, vmap

X, Y = Tensor.ones(4, 3), Tensor.ones(2, 3)


# --- a composed function that is composed again
def compose(f: Callable[[Tensor], Tensor], g: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: g(f(x))


def last(x: Tensor) -> Tensor:
    return x[-1]


vmap(compose(compose(Tensor.relu, last), compose(Tensor.exp, Tensor.relu)))(X)
compose(compose(last, last), compose(Tensor.exp, Tensor.relu))(X)


# --- a recursive object
class Node:
    def __init__(self, *children: "Node") -> None:
        self.children = children

    def total(self, x: Tensor) -> Tensor:
        return sum((child.total(x[1:]) for child in self.children), x.sum())


vmap(Node(Node(Node()), Node()).total)(X)


# --- an argument that may be None
def shifted(x: Tensor, bias: Tensor | None = None) -> Tensor:
    return x if bias is None else x + bias.sum()


vmap(shifted, in_axes=(0, None))(X, Tensor.ones(4))
vmap(shifted)(X)


# --- a copy of a dict that is changed
def with_low(limits: Mapping[str, Tensor]) -> dict[str, Tensor]:
    copy = dict(limits)
    copy["low"] = X
    return copy


vmap(lambda a, b: a > b)(X, with_low({"low": Y})["low"])

# --- branches, trees and samples
vmap(lambda x: cond(x.sum() > 0, lambda v: v, lambda v: v * 0, x))(X)
vmap(lambda i, x: switch(i, [lambda v: v, lambda v: -v], x))(Tensor([0, 1, 0, 1]), X)
tree.map(lambda a, b: a + b, {"w": X, "b": Y}, {"b": Y, "w": X})
tree.map(lambda a, b: a + b, [X, Y], [X, Y])
vmap(lambda x: x + Tensor.rand(3), randomness="same")(X)
vmap(lambda x: vmap(lambda y: y + Tensor.rand(3), randomness="different")(X) + x, randomness="same")(X)
vmap(lambda key, x: x + random.uniform(key, (3,)))(random.split(random.key(0), 4), X)


# --- the length of an object, and an attribute by its name
class Sized:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __len__(self) -> int:
        return int(self.x.shape[0])


vmap(lambda x: x * len(Sized(x)) + getattr(x, "sum")())(X)  # noqa: B009  # N: vmap: the brands are lost here
