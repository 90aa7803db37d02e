"""Collectives: a reduction takes a brand out of every row, an exchange puts it in."""

from dataclasses import dataclass
from typing import Final, Generic, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

import branded as br
from branded import (
    Brand,
    Vec,
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    brand,
    grad,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    vmap,
)

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
X = Tensor([[1.0, 2.0], [3.0, 4.0]])


class Users(Brand): ...


class Items(Brand): ...


@dataclass
class Stats(Generic[S]):
    mean: Vec[S]
    top: Vec[S]


# --- psum over a class: the sum is plain, and leaves with None
assert_type(vmap(lambda u: psum(u, Users), axis_name=Users, out_axes=None)(x), Tensor)
vmap(lambda u: reveal_type(psum(u, Users)), axis_name=Users, out_axes=None)(x)  # N: "tinygrad

# --- psum over a string
assert_type(vmap(lambda u: psum(u, "users"), axis_name="users", out_axes=None)(x), Tensor)
vmap(lambda u: reveal_type(psum(u, "users")), axis_name="users", out_axes=None)(x)  # N: "tinygrad

# --- the result still varies where it meets the value again
vmap(lambda u: reveal_type(u / psum(u, "users")), axis_name="users")(x)  # N: Vec[users,
assert_type(vmap(lambda u: u / psum(u, "users"), axis_name="users")(x), Tensor)

# --- the other reductions
assert_type(vmap(lambda u: u - pmean(u, Users), axis_name=Users)(x), Tensor)
assert_type(vmap(lambda u: (pmean(u, Users), pmax(u, Users)), axis_name=Users, out_axes=None)(x), tuple[Tensor, Tensor])
assert_type(vmap(lambda u: (pmin(u, Users), all_gather(u, Users)), axis_name=Users, out_axes=None)(x)[1], Tensor)

# --- all_gather with its options
assert_type(vmap(lambda r: all_gather(r, "i", axis=1), axis_name="i", out_axes=None)(X), Tensor)
assert_type(vmap(lambda r: all_gather(r, "i", tiled=True), axis_name="i", out_axes=None)(X), Tensor)

# --- one of two brands is taken out
vmap(
    lambda u: vmap(lambda i: reveal_type(psum(u * i, Users)), axis_name=Items)(y),  # N: Items,
    axis_name=Users,
    out_axes=None,
)(x)

# --- the inner one of two brands is taken out
vmap(lambda u: vmap(lambda i: reveal_type(psum(u * i, "i")), axis_name="i", out_axes=None)(y))(x)  # N: Vec[u,

# --- a tuple of brands
vmap(
    lambda u: vmap(
        lambda i: reveal_type(psum(u * i, (Users, Items))),  # N: "tinygrad
        axis_name=Items,
        out_axes=None,
    )(y),
    axis_name=Users,
    out_axes=None,
)(x)

# --- a list of strings
both = vmap(
    lambda u: vmap(lambda i: psum(u * i, ["u", "i"]), axis_name="i", out_axes=None)(y), axis_name="u", out_axes=None
)(x)
assert_type(both, Tensor)

# --- a string and a class
mixed = vmap(
    lambda u: vmap(lambda i: psum(u * i, ("u", Items)), axis_name=Items, out_axes=None)(y), axis_name="u", out_axes=None
)(x)
assert_type(mixed, Tensor)

# --- trees
assert_type(vmap(lambda u: psum({"a": u, "b": u * 2}, Users), axis_name=Users, out_axes=None)(x), dict[str, Tensor])
assert_type(vmap(lambda u: psum((u, [u]), "u"), axis_name="u", out_axes=None)(x), tuple[Tensor, list[Tensor]])
vmap(lambda u: reveal_type(pmean(Stats(u, u), "u")), axis_name="u", out_axes=None)(x)  # N: Stats[Never]

# --- a value that does not vary counts as the same in every example
assert_type(vmap(lambda u: psum(y, Users), axis_name=Users, out_axes=None)(x), Tensor)
vmap(lambda a: vmap(lambda u: reveal_type(psum(a, Users)), axis_name=Users, out_axes=None)(x))(y)  # N: Vec[a,

# --- psum of a number is a number
assert_type(vmap(lambda u: u / psum(1, "u"), axis_name="u")(x), Tensor)
vmap(lambda u: u * reveal_type(psum(1, "u")), axis_name="u")(x)  # N: int
vmap(lambda u: u * reveal_type(pmean(1.0, "u")), axis_name="u")(x)  # N: "tinygrad


# --- a function of a named brand
def centered(u: Vec[Users | S]) -> Vec[Users | S]:
    return u - pmean(u, Users)


def total(u: Vec[Users | S]) -> Vec[S]:
    return psum(u, Users)


assert_type(vmap(centered, axis_name=Users)(x), Tensor)
assert_type(vmap(lambda u: centered(u), axis_name=Users)(x), Tensor)


# --- a function of one named brand alone
def share(u: Vec[Users]) -> Vec[Users]:
    assert_type(psum(u, Users), Tensor)
    return u / psum(u, Users)


def sum_of(u: Vec[Users]) -> Tensor:
    return psum(u, Users)


assert_type(vmap(share, axis_name=Users)(x), Tensor)
assert_type(vmap(sum_of, axis_name=Users, out_axes=None)(x), Tensor)


# --- a function of any row, summed by a string
def normalized(a: Vec[S]) -> Vec[S]:
    return a / psum(a, "users")


assert_type(vmap(normalized, axis_name="users")(x), Tensor)


# --- a function of any row that does not vary over a class
def shifted(a: Vec[S]) -> Vec[S]:
    return a - psum(a, Users) / axis_size(Users)


assert_type(vmap(lambda u: shifted(u), axis_name=Users)(x), Tensor)


# --- a name in a parameter
def over(name: str) -> Tensor:
    return vmap(lambda u: u / psum(u, name), axis_name=name)(x)


def sum_over(name: str) -> Tensor:
    return vmap(lambda u: psum(u, name), axis_name=name, out_axes=None)(x)


def generic_over(a: Vec[S], name: str) -> Vec[S]:
    return a - pmean(a, name)


assert_type(over("a") + sum_over("a"), Tensor)
assert_type(vmap(lambda u: generic_over(u, "a"), axis_name="a")(x), Tensor)

# --- a name in a constant
AXIS: Final = "axis"
assert_type(vmap(lambda u: psum(u, AXIS), axis_name="axis", out_axes=None)(x), Tensor)
assert_type(vmap(lambda u: psum(u, AXIS), axis_name=AXIS, out_axes=None)(x), Tensor)

# --- an opened brand
with brand("p", 2) as p, brand(Users, 3) as users:
    product = p.vec(x) * users.vec(y)
    assert_type(psum(product, (p, Users)), Tensor)
    assert_type(psum(product, p), Vec[Users])
    assert_type(users.unvec(psum(product, "p")), Tensor)
    assert_type(pmax(psum(product, p), users), Tensor)

# --- ppermute varies over the brand
vmap(lambda u: reveal_type(ppermute(u, "u", [(0, 1)])), axis_name="u")(x)  # N: Vec[u,
assert_type(vmap(lambda u: u + ppermute(u, Users, [(0, 1), (1, 0)]), axis_name=Users)(x), Tensor)

# --- ppermute of an unbatched value
vmap(lambda u: reveal_type(ppermute(y, Users, [(0, 1)])), axis_name=Users)(x)  # N: Users,
vmap(lambda u: reveal_type(ppermute(y, "u", [(0, 1)])), axis_name="u")(x)  # N: Vec[u,

# --- all_to_all
assert_type(vmap(lambda r: all_to_all(r, "i", 0, 0), axis_name="i")(X), Tensor)
vmap(lambda r: reveal_type(all_to_all(r, "i", 0, 0, tiled=True)), axis_name="i")(X)  # N: Vec[i,

# --- psum_scatter
vmap(lambda r: reveal_type(psum_scatter(r, Users)), axis_name=Users)(X)  # N: Users,
assert_type(vmap(lambda r: psum_scatter(r, "i", scatter_dimension=0), axis_name="i")(X), Tensor)

# --- exchanges of trees
assert_type(vmap(lambda u: ppermute({"a": u}, "u", [(0, 1)]), axis_name="u")(x), dict[str, Tensor])

# --- axis_index varies over the brand
vmap(lambda u: reveal_type(axis_index(Users)), axis_name=Users)(x)  # N: Users,
vmap(lambda u: reveal_type(axis_index("u")), axis_name="u")(x)  # N: Vec[u,
assert_type(vmap(lambda u: u * axis_index("u"), axis_name="u")(x), Tensor)

# --- axis_index of two brands
vmap(lambda u: vmap(lambda i: reveal_type(axis_index(("u", "i"))), axis_name="i")(y), axis_name="u")(x)  # N: [u | i,


# --- axis_index in a function
def numbered(u: Vec[Users]) -> Vec[Users]:
    return u + axis_index(Users)


assert_type(vmap(numbered, axis_name=Users)(x), Tensor)

# --- axis_size is an int
assert_type(vmap(lambda u: u / axis_size("u"), axis_name="u")(x), Tensor)
vmap(lambda u: u * reveal_type(axis_size(Users)), axis_name=Users)(x)  # N: int

# --- two brands of the same parameter's name
vmap(
    lambda users: vmap(lambda i: reveal_type(psum(users * i, "users")), axis_name="users", out_axes=None)(y)  # N: Vec[u
)(x)

# --- a sum of sums
assert_type(vmap(lambda u: psum(psum(u, "u") * u, "u"), axis_name="u", out_axes=None)(x), Tensor)

# --- collectives of derivatives
assert_type(vmap(lambda a: pmean(grad(lambda v: (v * a).sum())(x), "b"), axis_name="b", out_axes=None)(X), Tensor)

# --- by the module
assert_type(vmap(lambda u: br.psum(u, "u"), axis_name="u", out_axes=None)(x), Tensor)

# --- keyword arguments
assert_type(vmap(lambda u: psum(x=u, axis_name="u"), axis_name="u", out_axes=None)(x), Tensor)
assert_type(vmap(lambda u: all_gather(u, axis_name=Users, axis=0), axis_name=Users, out_axes=None)(x), Tensor)


# --- functions with collectives, where their brands are open
def center(u: Vec[Users | S]) -> Vec[Users | S]:
    return u - pmean(u, Users)


def sum_if(u: Vec[S], sums: bool) -> Vec[S]:
    return psum(u, "u") if sums else u


def sum_named(u: Vec[S], name: str) -> Vec[S]:
    if not name:
        return u
    return psum(u, name)


def by_itself(u: Tensor) -> Tensor:
    return vmap(center, axis_name=Users)(u)


assert_type(vmap(center, axis_name=Users)(x), Tensor)
assert_type(vmap(lambda i: vmap(center)(i * y), axis_name=Users)(x), Tensor)
assert_type(vmap(lambda u: sum_if(u, False))(x), Tensor)
assert_type(vmap(lambda u: sum_named(u, ""))(x), Tensor)
assert_type(by_itself(x), Tensor)

with br.brand(Users, 2) as opened:
    opened.unvec(center(opened.vec(x)) + psum(opened.vec(x), Users))
