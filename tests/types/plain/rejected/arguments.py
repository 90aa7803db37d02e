"""A `Vec` passed to a function of tensors."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, unvec

S = TypeVar("S", bound=Brand)


def helper(w: Tensor) -> Tensor:
    return w.realize()


# --- a function of a Tensor
def calls(a: Vec[S]) -> Vec[S]:
    return helper(a)  # E


# --- a function of two tensors, the second one a Vec
def distance(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).square().sum()


def from_origin(a: Vec[S]) -> Vec[S]:
    return distance(Tensor([0.0, 0.0]), a * 2)  # E


# --- a method
class Model:
    def step(self, w: Tensor) -> Tensor:
        return w * 2


def steps(model: Model, a: Vec[S]) -> Vec[S]:
    return model.step(a)  # E


# --- a keyword argument
def by_keyword(a: Vec[S]) -> Vec[S]:
    return helper(w=a)  # E


# --- a list of tensors
def total(values: list[Tensor]) -> Tensor:
    return values[0].stack(*values[1:]).sum()


def of_list(a: Vec[S]) -> Vec[S]:
    return total([a, a])  # E


# --- unvec of a value that has brands
def opened(a: Vec[S]) -> Tensor:
    return unvec(a)  # E
