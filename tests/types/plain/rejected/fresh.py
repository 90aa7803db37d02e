"""Mistakes that show only with a fresh brand, which the plugin alone creates."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
kept = [x]


class Users(Brand): ...


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


# --- a body of a Tensor
def monomorphic(a: Tensor) -> Tensor:
    return a.realize()


vmap(monomorphic)(x)  # E


# --- a body of a Tensor, decorated
@vmap  # E
def decorated(a: Tensor) -> Tensor:
    return a * 2


# --- a body of a named brand, without the name
def per_user(u: Vec[Users]) -> Vec[Users]:
    return u * 2


vmap(per_user)(x)  # E

# --- more axes than arguments
vmap(double, in_axes=(0, 0))(x)  # E

# --- a bool as an axis
vmap(double, in_axes=True)(x)  # E

# --- out_axes=None for a result that varies
vmap(double, out_axes=None)(x)  # E

# --- nothing is mapped
vmap(double, in_axes=None)(x)  # E

# --- an axis of a number
vmap(lambda a, n: a * n)(x, 2)  # E

# --- a read in a lambda
vmap(lambda a: a.numpy())(x)  # E

# --- if in a lambda
vmap(lambda a: a if a > 0 else -a)(x)  # E

# --- a function of tensors, called in a lambda
vmap(lambda a: monomorphic(a))(x)  # E

# --- a lambda keeps its argument in a list of tensors
vmap(lambda a: kept.append(a))(x)  # E

# --- a lambda returns a function of its argument
vmap(lambda a: lambda: a)(x)  # E

# --- a wrong method in a lambda
vmap(lambda a: a.sinus())(x)  # E
