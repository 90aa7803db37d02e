"""Calls that do not fit the function."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- a missing argument
vmap(add)(x)  # E

# --- too many arguments
vmap(double)(x, y)  # E

# --- an unknown keyword
vmap(double)(x, shift=y)  # E

# --- a string as an argument
vmap(double)("x")  # E

# --- an option that vmap does not have
vmap(double, in_axis=0)(x)  # E

# --- a randomness that there is not
vmap(double, randomness="some")(x)  # E

# --- a method that tensors do not have
double(x).sinus()  # E
