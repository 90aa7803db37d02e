"""Functions of arrays: the rows of the results are the unions of those of the arguments."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, array, convolve, cross, kron, outer, take_along_axis, trace, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x = Tensor([1.0, 2.0])


# --- functions of two rows
def two_rows(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(outer(a, b), Vec[S1 | S2])
    assert_type(kron(a, b), Vec[S1 | S2])
    assert_type(cross(a, b), Vec[S1 | S2])
    assert_type(convolve(a, b, mode="same"), Vec[S1 | S2])
    assert_type(take_along_axis(a, b, axis=0), Vec[S1 | S2])


# --- functions of one row
def one_row(a: Vec[S]) -> None:
    assert_type(trace(a), Vec[S])
    assert_type(outer(a, a), Vec[S])
    assert_type(outer(a, 2.0), Vec[S])
    assert_type(outer(x, a), Vec[S])


# --- an array has the rows of all its entries
def nested(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(array(a), Vec[S1])
    assert_type(array([a, 0, 1.5]), Vec[S1])
    assert_type(array([[a, 0], [1, 2]]), Vec[S1])
    assert_type(array([a, b]), Vec[S1 | S2])
    assert_type(array([[a, 0.5], [1, b]]), Vec[S1 | S2])


# --- functions of plain tensors
assert_type(outer(x, x), Tensor)
assert_type(trace(x), Tensor)
assert_type(array([1.0, 2.0]), Tensor)
assert_type(array([[x, 0], [1, 2]]), Tensor)


# --- functions in a mapped function
assert_type(vmap(lambda a: array([[a, 0], [1, 2]]))(x), Tensor)
assert_type(vmap(lambda a, b: outer(a, b))(x, x), Tensor)
assert_type(vmap(lambda a: vmap(lambda b: array([a, b]))(x))(x), Tensor)
