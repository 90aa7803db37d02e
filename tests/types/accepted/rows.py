"""Rows: subtyping is broadcasting."""

from collections.abc import Callable, Sequence
from typing import Generic, Never, Protocol, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 2)


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- a Vec stands where one of a larger row is wanted
def wider(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a


# --- a Tensor stands where a Vec is wanted
def constant(a: Vec[S]) -> Vec[S]:
    return y


assert_type(vmap(constant)(x), Tensor)

# --- a Tensor is a Vec of the empty row
empty: Vec[Never] = x
typed: Vec[Never, Tensor] = x


# --- a row is a set
def commutes(a: Vec[S1 | S2]) -> Vec[S2 | S1]:
    return a


# --- a row is idempotent
def idempotent(a: Vec[S]) -> Vec[S | S]:
    return a + a


# --- a zip of one declared row, of a Vec and a Tensor
def zipped(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a + b


assert_type(vmap(lambda a: zipped(a, y))(x), Tensor)


# --- Tensor is the default of the second parameter
def default(a: Vec[S]) -> Vec[S, Tensor]:
    return a


# --- a list of values of one row
def mean(values: Sequence[Vec[S]]) -> Vec[S]:
    out = values[0]
    for v in values[1:]:
        out = out + v
    return out / len(values)


assert_type(vmap(lambda a: mean([a, a + 1]))(x), Tensor)


# --- a value of another row is taken by an annotation
def grows(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    out: Vec[S1 | S2] = a
    for _ in range(2):
        out = out * b
    return out


# --- one of two values, by a shared condition
def either(a: Vec[S1], b: Vec[S2], first: bool) -> Vec[S1 | S2]:
    return a if first else b


# --- a function of functions, generic in the row
def twice(f: Callable[[Vec[S]], Vec[S]], a: Vec[S]) -> Vec[S]:
    return f(f(a))


assert_type(vmap(lambda a: twice(lambda v: v * 2, a))(x), Tensor)


# --- a Protocol for bodies of every row
class Step(Protocol):
    def __call__(self, a: Vec[S], /) -> Vec[S]: ...


def apply(f: Step, values: Tensor) -> Tensor:
    return vmap(f)(values)


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


assert_type(apply(double, x), Tensor)


# --- a class that is generic in the row
class Layer(Generic[S1]):
    def __init__(self, w: Vec[S1]) -> None:
        self.w = w

    def __call__(self, a: Vec[S2]) -> Vec[S1 | S2]:
        return a * self.w


assert_type(vmap(Layer(y))(x), Tensor)
assert_type(vmap(lambda w: Layer(w)(y), in_axes=0)(X), Tensor)

# --- an ensemble: the weights and the data are mapped in different vmaps
assert_type(vmap(lambda w: vmap(lambda a: Layer(w)(a))(X))(X), Tensor)


# --- realize of a value, with others
def worked_out(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return (a * 2).realize(b, y)


# --- a helper of Tensor is called with a Tensor
def helper(w: Tensor) -> Tensor:
    return w.realize()


assert_type(vmap(lambda a: a * helper(y).sum())(x), Tensor)


# --- a function of the empty row is called with a Tensor
def of_empty(w: Vec[Never]) -> Vec[Never]:
    return w


assert_type(of_empty(x), Vec[Never])


# --- a local variable that is assigned again
def reassigned(a: Vec[S]) -> Vec[S]:
    h = a
    h = h * 2
    h = h.relu() + h
    return h.relu()


# --- a generic function at its own instance
assert_type(vmap(lambda a: vmap(lambda b: add(add(a, b), a))(y))(x), Tensor)


# --- isinstance
def checked(a: Vec[S]) -> Vec[S]:
    assert isinstance(a, Vec)
    return a


# --- a value or None
def optional(a: Vec[S] | None, default: Vec[S]) -> Vec[S]:
    return default if a is None else a


# --- a row that no parameter has is every row: the value varies over none
def free(a: Vec[S1]) -> Vec[S2]:
    return x


assert_type(vmap(free)(x), Tensor)  # N: vmap: the result does not vary over "a", so it is repeated for each example; tr
