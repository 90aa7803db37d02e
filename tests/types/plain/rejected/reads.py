"""A read of a `Vec`."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


class Users(Brand): ...


# --- numpy()
def numpy(a: Vec[S]) -> Vec[S]:
    print(a.numpy())  # E
    return a


# --- item()
def item(a: Vec[S]) -> Vec[S]:
    print(a.sum().item())  # E
    return a


# --- tolist()
def tolist(a: Vec[S]) -> Vec[S]:
    print(a.tolist())  # E
    return a


# --- data()
def data(a: Vec[S]) -> Vec[S]:
    print(a.data())  # E
    return a


# --- tolist() of two brands
def two(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    print((a + b).tolist())  # E
    return a


# --- numpy() in `with brand(...)`
def opened() -> None:
    with brand(Users, 2) as users:
        print(users.vec(Tensor([1.0, 2.0])).numpy())  # E
