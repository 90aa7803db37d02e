"""Right programs that some checker refuses."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x = Tensor([1.0, 2.0])


class Users(Brand): ...


# --- a result of vmap is a Tensor, without unvec
def double(a: Vec[S]) -> Vec[S]:
    return a * 2


doubled: Tensor = vmap(double)(x)

# --- a result of brand.unvec is a Tensor, without unvec
with brand(Users, 2) as users:
    left: Tensor = users.unvec(users.vec(x))


# --- a named brand is removed from the result
def per_user(u: Vec[Users]) -> Vec[Users]:
    return u * 2


named = unvec(vmap(per_user, axis_name=Users)(x))


# --- stack by the class
def stacked(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return Tensor.stack(a, b)
