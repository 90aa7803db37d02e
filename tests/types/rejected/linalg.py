"""Linear algebra: results that vary, and options that mean nothing."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, linalg, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
A, As = Tensor.eye(3), Tensor.eye(3).expand(2, 3, 3)


# --- a solution varies over the brands of its right side
def solved(b: Vec[S]) -> Tensor:
    return linalg.solve(A, b)  # E: Incompatible return value type


# --- a solution varies over the brands of its matrix
def both(a: Vec[S1], b: Vec[S2]) -> None:
    x = linalg.solve(a, b)
    b = x  # E: Incompatible types in assignment


# --- a determinant of an example is not read
vmap(lambda a: a / linalg.det(a).item())(As)  # E: item: a value that varies over "a" has no single value to read

# --- a factor of an example is not read
vmap(lambda a: linalg.qr(a).R.numpy())(As)  # E: numpy: a value that varies over "a" has no single value to read

# --- a number instead of a matrix
linalg.inv(2.0)  # E: Argument 1 to "inv" has incompatible type "float"
