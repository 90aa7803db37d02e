"""Correct programs that some checker rejects."""

from typing import Generic, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, grad, scan, vmap
from branded import map as map_

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


named: Tensor = vmap(per_user, axis_name=Users)(x)


# --- stack by the class
def stacked(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return Tensor.stack(a, b)


# --- a gradient of a function with type variables is a Tensor, without unvec
def norm(a: Vec[S]) -> Vec[S]:
    return a.square().sum()


slope: Tensor = grad(norm)(x)


# --- a carry that gains a brand in a step
def step(c: Vec[S1], a: Vec[S2]) -> tuple[Vec[S1 | S2], None]:
    return c + a, None


def final(xs: Vec[S]) -> Vec[S]:
    return scan(step, Tensor(0.0), xs)[0]


# --- a dict of tensors for a dict of batched values
def loss(p: dict[str, Vec[S]], a: Vec[S1]) -> Vec[S | S1]:
    return (p["w"] * a).sum()


weights: dict[str, Tensor] = {"w": x}
lost = loss(weights, x)


# --- fields of a generic class are Tensors
class State(Generic[S]):
    def __init__(self, place: Vec[S]) -> None:
        self.place = place


place: Tensor = State(x).place


# --- isinstance of a Vec
def doubled_if(a: Vec[S]) -> Vec[S]:
    return a * 2 if isinstance(a, Vec) else a


# --- map, which Python has too
mapped: Tensor = map_(lambda a: a * 2, x)
