"""A brand that leaves its scope by the return type."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])


class Users(Brand): ...


class Items(Brand): ...


# --- a Tensor is declared
def plain(a: Vec[S]) -> Tensor:
    return a * 2  # E


# --- a tuple of tensors is declared
def pair(a: Vec[S]) -> tuple[Tensor, Tensor]:
    return x, a  # E


# --- a list of tensors is declared
def several(a: Vec[S]) -> list[Tensor]:
    return [a, a]  # E


# --- a dict of tensors is declared
def keyed(a: Vec[S]) -> dict[str, Tensor]:
    return {"a": a}  # E


# --- out of `with brand(...)`
def out_of_with() -> Tensor:
    with brand(Users, 2) as users:
        return users.vec(x)  # E


# --- one of two brands is left
def one_of_two() -> Tensor:
    with brand(Users, 2) as users, brand(Items, 3) as items:
        return users.unvec(users.vec(x) * items.vec(y))  # E


# --- the other brand is left
def the_other() -> Tensor:
    with brand(Users, 2) as users, brand(Items, 3) as items:
        return items.unvec(users.vec(x))  # E
