"""Derivatives, loops, branches and collectives."""
# mypy: allow-untyped-calls

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, axis_index, cond, fori_loop, grad, psum, scan, value_and_grad, vjp, vmap, while_loop

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
w, x = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 0.0], [0.0, 1.0]])
zero = Tensor(0.0)


class Users(Brand): ...


class Items(Brand): ...


def loss(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sum()


def plain_loss(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


# --- a gradient is declared plain
def slope(a: Vec[S]) -> Tensor:
    return grad(loss)(w, a)  # E


# --- a gradient is declared without a brand that it has
def slope_of(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return grad(loss)(a, b)  # E


# --- a gradient is read
def read(a: Vec[S]) -> None:
    grad(loss)(w, a).numpy()  # E


# --- the derivative of a function of tensors, of a Vec
def mixed(a: Vec[S]) -> Vec[S]:
    return grad(plain_loss)(w, a)  # E


# --- value_and_grad is one value
def one(a: Tensor) -> Tensor:
    return value_and_grad(plain_loss)(a, x)  # E


# --- a missing argument
grad(plain_loss)(w)  # E

# --- argnums that are no numbers
grad(plain_loss, argnums="w")  # E

# --- a per-example gradient leaves as one that all share
vmap(grad(loss), in_axes=(None, 0), out_axes=None)(w, X)  # E

# --- a function that gives no tensor
grad(lambda v: "text")(w)  # E

# --- a derivative with respect to an int
grad(lambda n: w.sum() * n)(3)  # E

# --- vjp of a wrong argument
vjp(plain_loss, w, "x")  # E


# --- scan: the carry is another tree
def grow(c: Tensor, a: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    return (c, a), c


scan(grow, zero, x)  # E


# --- scan: no pair
def alone(c: Tensor, a: Tensor) -> Tensor:
    return c + a


scan(alone, zero, x)  # E


# --- scan: the brand of the steps is left out
def last(xs: Vec[S], init: Vec[S1]) -> Vec[S1]:
    return scan(lambda c, a: (c + a, None), init, xs)[0]  # E


# --- fori_loop: a string for a bound
fori_loop(0, "3", lambda i, c: c, zero)  # E

# --- while_loop: the condition is not a bool
while_loop(lambda c: (c, c), lambda c: c, zero)  # E


# --- cond: the brand of the predicate is left out
def pick(p: Vec[S], a: Vec[S1]) -> Vec[S1]:
    return cond(p, lambda: a, lambda: a * 2)  # E


# --- cond: a string for a predicate
cond("yes", lambda: x, lambda: w)  # E


# --- a sum over users still varies over items
def total(u: Vec[Users | Items]) -> Tensor:
    return psum(u, Users)  # E


# --- the number of an example is declared plain
def index() -> Tensor:
    return axis_index(Users)  # E


# --- a number for a name
def unnamed(u: Vec[S]) -> Vec[S]:
    return psum(u, 3)  # E


# --- a sum over one of two brands is declared plain
def sum_of_one(a: Vec[Users | Items]) -> Tensor:
    return psum(a, Users)  # E


# --- a sum over another brand is declared plain
def sum_of_another(a: Vec[Items]) -> Tensor:
    return psum(a, Users)  # E


# --- a value of two brands, one of them opened by vmap
def both(u: Vec[Users], i: Vec[Items]) -> Vec[Users | Items]:
    return u * i


def of_one(i: Vec[Items]) -> Tensor:
    return vmap(both, axis_name=Users, in_axes=(0, None))(x, i)  # E
