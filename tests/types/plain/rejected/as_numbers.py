"""A `Vec` where Python needs one number or one truth value."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec

S = TypeVar("S", bound=Brand)


# --- if, on a comparison
def if_comparison(a: Vec[S]) -> Vec[S]:
    if a > 0:  # E
        return a
    return -a


# --- if, on a value
def if_value(a: Vec[S]) -> Vec[S]:
    if a:  # E
        return a
    return -a


# --- an if-expression
def ternary(a: Vec[S]) -> Vec[S]:
    return a if a > 0 else -a  # E


# --- while
def while_(a: Vec[S]) -> Vec[S]:
    while a < 10:  # E
        a = a * 2
    return a


# --- assert
def assert_(a: Vec[S]) -> Vec[S]:
    assert (a > 0).all()  # E
    return a


# --- and instead of &
def and_(a: Vec[S]) -> Vec[S]:
    return (a > 0) and (a < 1)  # E


# --- a chained comparison
def chained(a: Vec[S]) -> Vec[S]:
    return 0 < a < 1  # E


# --- bool()
def to_bool(a: Vec[S]) -> bool:
    return bool(a > 0)  # E


# --- float()
def to_float(a: Vec[S]) -> float:
    return float(a)  # E


# --- int()
def to_int(a: Vec[S]) -> int:
    return int(a)  # E


# --- range()
def to_range(a: Vec[S]) -> Vec[S]:
    for _ in range(a):  # E
        a = a + 1
    return a


# --- a shape
def to_shape(a: Vec[S]) -> Tensor:
    return Tensor.zeros(a)  # E
