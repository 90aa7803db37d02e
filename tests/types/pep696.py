"""Rows with defaults as type parameters, for Python 3.13 and later."""

from dataclasses import dataclass
from typing import Never, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])

type Params[S: Brand = Never] = dict[str, Vec[S]]


@dataclass(frozen=True)
class State[S: Brand = Never]:
    position: Vec[S]
    speed: Vec[S]


# --- a default for a row that no argument determines
def scaled[S: Brand, S1: Brand = Never](a: Vec[S], k: Vec[S1] | float = 2.0) -> Vec[S | S1]:
    return a * k


assert_type(vmap(scaled)(x, y), Tensor)
assert_type(vmap(lambda a: scaled(a))(x), Tensor)
assert_type(vmap(lambda a: scaled(y, a))(x), Tensor)


# --- a class without its row has the empty one
def energy(s: State) -> Tensor:
    assert_type(s, State[Never])
    return (s.position * s.speed).sum()


assert_type(energy(State(x, y)), Tensor)
assert_type(vmap(lambda s: State(s.speed, s.position))(State(x, y)), State[Never])


# --- an alias without its row has the empty one
def norm(p: Params) -> Tensor:
    return p["w"].square().sum()


assert_type(norm({"w": x}), Tensor)


# --- a batched value where the empty row is expected
def read[S: Brand](a: Vec[S]) -> Vec[S]:
    energy(State(a, x))  # E: incompatible type "Vec[S, Tensor]"; expected "Vec[Never, Tensor]"
    return a
