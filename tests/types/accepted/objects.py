"""Functions of plain tensors that make objects, and that are kept: nothing says that their results do not vary."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, ParamSpec, Protocol, Self, TypeVar, assert_type

from tinygrad import Tensor

from branded import static, tree, vmap

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
w = Tensor([1.0, 2.0])


# --- properties, and methods that return Self
@dataclass
class Point:
    v: Tensor

    @property
    def double(self) -> Tensor:
        return self.v * 2

    def scaled(self, k: float) -> Self:
        return type(self)(self.v * k)

    def total(self) -> Tensor:
        return self.v.sum()


def point(x: Tensor) -> Point:
    return Point(x)


vmap(lambda x: Point(x).double)(X)
vmap(lambda x: Point(x).scaled(2.0).v)(X)
vmap(lambda x: Point(x).total() + w)(X)
vmap(lambda x: point(x).v)(X)


# --- a named tuple without a row
class Pair(NamedTuple):
    a: Tensor
    b: Tensor

    @property
    def sum(self) -> Tensor:
        return self.a + self.b


vmap(lambda x: Pair(x, x).sum)(X)


# --- Protocols
class HasTotal(Protocol):
    def total(self) -> Tensor: ...


def total(p: HasTotal) -> Tensor:
    return p.total()


vmap(lambda x: total(point(x)))(X)


# --- arguments of type Any
def weights(p: Any) -> Tensor:
    loaded: Tensor = p["w"]
    return loaded


anything: Any = {"w": X}
vmap(lambda x: weights({"w": x}))(X)
vmap(lambda p: weights(p) + w)(anything)
vmap(weights)({"w": X})


# --- vmap of a function of plain tensors, kept or as a decorator
def doubled(x: Tensor) -> Tensor:
    return x * 2


stored = vmap(doubled)
assert_type(stored(X), Tensor)


@vmap
def halved(x: Tensor) -> Tensor:
    return x / 2


@vmap(in_axes=(0, None))
def weighted(x: Tensor, w: Tensor) -> Tensor:
    return x * w.item()


assert_type(halved(X), Tensor)
assert_type(weighted(X, Tensor(2.0)), Tensor)


# --- functions of plain tensors in containers
functions = {"double": doubled, "twice": doubled}
assert_type(vmap(functions["double"])(X), Tensor)
assert_type(vmap([doubled, doubled][0])(X), Tensor)


# --- a decorated function
P = ParamSpec("P")
R = TypeVar("R")


def logged(f: Callable[P, R]) -> Callable[P, R]:
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)

    return run


@logged
def normed(x: Tensor, eps: float = 1e-6) -> Tensor:
    return x / (x.sum() + eps)


assert_type(vmap(normed)(X), Tensor)
assert_type(vmap(lambda x: normed(x, 0.1))(X), Tensor)


# --- static fields keep their values
@dataclass(frozen=True)
class Filled:
    w: Tensor
    n: Annotated[int, static]

    def filled(self) -> Tensor:
        return Tensor.cat(self.w, Tensor.ones(self.n))


made = vmap(lambda w: Filled(w, 2))(X)
assert vmap(lambda p: p.w, in_axes=(Filled(1, 2),))(made).tolist() == [[1.0, 3.0], [2.0, 4.0]]
assert (vmap(lambda p: p.filled())(tree.map(Tensor.neg, made)) + Tensor.ones(2, 4)).shape == (2, 4)


# --- special methods, descriptors and setters that read nothing
class Sum:
    def __get__(self, owner: "Counted", kind: object = None) -> Tensor:
        return owner.x.sum()


class Counted:
    sum = Sum()

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.rest = 3

    def __iter__(self) -> "Counted":
        return self

    def __next__(self) -> Tensor:
        if self.rest == 0:
            raise StopIteration
        self.rest -= 1
        return self.x * self.rest

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return f"Counted{self.x.shape}"

    def __bool__(self) -> bool:
        return self.x.ndim > 0

    def __getattr__(self, name: str) -> Tensor:
        return self.x[len(name)]

    @property
    def scaled(self) -> Tensor:
        return self.x

    @scaled.setter
    def scaled(self, factor: Tensor) -> None:
        self.x = self.x * factor


def held(x: Tensor) -> Tensor:
    h = Counted(x)
    h.scaled = x.max()
    print(h, {h: 1})
    total = Tensor(0.0)
    for part in h:
        total = total + part.sum()
    return total + h.sum + h.a if h else x


vmap(held)(Tensor.ones(2, 3)).tolist()
