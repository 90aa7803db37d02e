"""Results that vmap stacks: numbers become tensors, also in fields of objects; keys of dicts stay."""

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S_co = TypeVar("S_co", bound=Brand, covariant=True)
X = Tensor([[1.0, 2.0], [3.0, 4.0]])

# --- keys
assert_type(vmap(lambda x: {0: x})(X), dict[int, Tensor])
assert_type(vmap(lambda x: {0: {True: 1}})(X), dict[int, dict[bool, Tensor]])


# --- fields of dataclasses that are declared as numbers
@dataclass(frozen=True)
class Step(Generic[S_co]):
    x: Vec[S_co]
    ok: bool
    n: int = 3


@dataclass(frozen=True)
class Run(Generic[S_co]):
    step: Step[S_co]
    cost: float


def step(x: Vec[S]) -> Step[S]:
    return Step(x, True)


stepped = vmap(step)(X)
assert_type(stepped.ok, Tensor)
assert_type(stepped.n, Tensor)
assert_type(stepped.x, Tensor)
assert_type(vmap(lambda x: Run(Step(x, True), 2.0))(X).cost, Tensor)
assert_type(vmap(lambda x: Run(Step(x, True), 2.0))(X).step.n, Tensor)
assert_type(vmap(lambda x: (step(x), 1))(X)[0].ok, Tensor)
assert_type(vmap(lambda s: s.n + 1)(stepped), Tensor)
assert_type(step(X[0]).ok, bool)


def used(x: Vec[S]) -> Vec[S]:
    return x if step(x).ok else -x


# --- a result that is not stacked
shared: int = vmap(lambda x: 3, out_axes=None)(X)


# --- fields of named tuples
class Pair(NamedTuple, Generic[S_co]):
    x: Vec[S_co]
    n: int


def pair(x: Vec[S]) -> Pair[S]:
    return Pair(x, 1)


assert_type(vmap(pair)(X).n, Tensor)
assert_type(vmap(pair)(X)[1], Tensor)
assert_type(vmap(pair)(X).x, Tensor)
assert_type(pair(X[0]).n, int)
