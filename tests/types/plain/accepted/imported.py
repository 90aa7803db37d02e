"""The type variables of `branded.typing`, whose default is the empty set of brands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Never, TypeAlias, assert_type

from tinygrad import Tensor

from branded import Vec, unvec, vmap
from branded.typing import S, S1, S2, S_co

x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
Params: TypeAlias = dict[str, Vec[S]]


@dataclass(frozen=True)
class State(Generic[S_co]):
    position: Vec[S_co]
    speed: Vec[S_co]


# --- functions of several type variables
def fused(a: Vec[S], b: Vec[S1], c: Vec[S2]) -> Vec[S | S1 | S2]:
    return a * b + c


def of_two(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    assert_type(fused(a, b, a), Vec[S | S1])
    return fused(a, b, 2 * b)


assert_type(unvec(vmap(fused)(x, y, y)), Tensor)


# --- an omitted argument, or a number, has no brands
def scaled(a: Vec[S], k: Vec[S1] | float = 2.0) -> Vec[S | S1]:
    return a * k


def by_default(a: Vec[S]) -> Vec[S]:
    assert_type(scaled(a), Vec[S])
    return scaled(a, 3.0)


# --- a bare Vec has no brands
def norm(v: Vec) -> Tensor:
    return unvec(v.square().sum()).realize()


assert_type(norm(x), Tensor)


# --- a bare class has no brands
def energy(s: State) -> Tensor:
    return unvec((s.position * s.speed).sum())


assert_type(energy(State(x, y)), Tensor)


# --- a class without brands where one with brands is expected
def step(s: State[S], dt: Vec[S1]) -> State[S | S1]:
    return State(s.position + s.speed * dt, s.speed)


def from_rest(dt: Vec[S]) -> State[S]:
    rest: State = State(x, y)
    return step(rest, dt)


# --- a bare alias has no brands
def loaded() -> Params:
    return {"w": x}


def predict(p: Params[S], a: Vec[S1]) -> Vec[S | S1]:
    return p["w"] * a


params: dict[str, Vec[Never]] = loaded()


# --- a function of one type variable
def twice(f: Callable[[Vec[S]], Vec[S]], a: Vec[S]) -> Vec[S]:
    return f(f(a))
