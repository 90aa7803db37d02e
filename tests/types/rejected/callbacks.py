"""Callbacks: batched results used as plain ones, and wrong declarations of results."""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, ShapeDtypeStruct, Vec, debug, io_callback, pure_callback, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
one = ShapeDtypeStruct((), "float32")


# --- the result of a callback is declared plain
def plain(a: Vec[S]) -> Tensor:
    return pure_callback(np.sin, one, a)  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- a brand of an argument is forgotten
def forgotten(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return pure_callback(np.add, one, a, b)  # E: has incompatible type "Vec[S1, Tensor]"; expected "Vec[S,


# --- a callback's result for one example is read
vmap(lambda a: io_callback(float, one, a).item())(x)  # E: item: a value that varies over "a" has no single value to

# --- the text is not the first argument
vmap(lambda a: debug.print(a))(x)  # E: Argument 1 to "print" has incompatible type "Vec[a, Tensor]"; expected "str"
