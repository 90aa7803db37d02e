"""A batched value where a bare `Vec`, which has no brands, is declared."""

from dataclasses import dataclass
from typing import Generic

from tinygrad import Tensor

from branded import Vec, unvec
from branded.typing import S, S1, S_co

x = Tensor([1.0, 2.0])


@dataclass(frozen=True)
class State(Generic[S_co]):
    position: Vec[S_co]


def norm(v: Vec) -> Tensor:
    return unvec(v.square().sum())


def energy(s: State) -> Tensor:
    return unvec(s.position.sum())


# --- a Vec without arguments
def bare(a: Vec[S]) -> Vec[S]:
    return norm(a) + a  # E


# --- a class without arguments
def of_class(s: State[S]) -> State[S]:
    energy(s)  # E
    return s


# --- a result without arguments
def reduced(a: Vec[S]) -> Vec:
    return a.sum()  # E


# --- a brand is left out
def added(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return a + b  # E


# --- the brand of a class is left out
def moved(s: State[S], by: Vec[S1]) -> State[S]:
    return State(s.position + by)  # E
