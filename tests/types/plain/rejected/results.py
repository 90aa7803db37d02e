"""A result with other brands than declared."""

from typing import Never, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Users(Brand): ...


class Items(Brand): ...


# --- a sum over two brands, declared as one
def zipped(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return a + b  # E


# --- a matrix product over two brands, declared as one
def product(a: Vec[S1], b: Vec[S2]) -> Vec[S2]:
    return a @ b  # E


# --- the condition of where has a brand too
def where(c: Vec[S1], a: Vec[S2]) -> Vec[S2]:
    return (c > 0).where(a, 0)  # E


# --- the index has a brand too
def lookup(a: Vec[S1], i: Vec[S2]) -> Vec[S1]:
    return a[i]  # E


# --- users meet items where users are declared
def score(u: Vec[Users], i: Vec[Items]) -> Vec[Users]:
    return u * i  # E


# --- users meet items in a variable of users
def assigned(u: Vec[Users], i: Vec[Items]) -> Vec[Users]:
    out: Vec[Users] = u + i  # E
    return out


# --- another brand than the declared one
def other(a: Vec[S1], b: Vec[S2]) -> Vec[S2]:
    return a if b.ndim else b  # E


# --- declared without brands
def empty(a: Vec[S]) -> Vec[Never]:
    return a * 2  # E


# --- the outer brand, which the inner function does not declare
def outer(a: Vec[S1]) -> Vec[S1]:
    def inner(b: Vec[S2]) -> Vec[S2]:
        return a + b  # E

    return vmap(inner)(y)
