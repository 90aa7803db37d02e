"""Named brands, `with brand(...)`, unvec and lift."""

from typing import TypeVar, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, brand, brands, lift, unvec, vec_type, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])


class Users(Brand): ...


class Items(Brand): ...


def per_user(a: Vec[Users]) -> Vec[Users]:
    return a * 2


def score(u: Vec[Users], i: Vec[Items]) -> Vec[Users | Items]:
    return u * i


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


# --- a body of a named brand
assert_type(vmap(per_user, axis_name=Users)(x), Tensor)

# --- a body of a named brand in a lambda
assert_type(vmap(lambda u: per_user(u), axis_name=Users)(x), Tensor)
vmap(lambda u: reveal_type(u), axis_name=Users)(x)  # N: Users,

# --- a generic body at a named brand
assert_type(vmap(double, axis_name=Users)(x), Tensor)

# --- two named brands, the outer product
assert_type(vmap(lambda u: vmap(lambda i: score(u, i), axis_name=Items)(y), axis_name=Users)(x), Tensor)

# --- two named brands, each value seen
vmap(lambda u: vmap(lambda i: reveal_type(u * i), axis_name=Items)(y), axis_name=Users)(x)  # N: Items,

# --- two named brands, by in_axes
outer = vmap(vmap(score, in_axes=(None, 0), axis_name=Items), in_axes=(0, None), axis_name=Users)
assert_type(outer(x, y), Tensor)

# --- a named brand, stored
stored = vmap(per_user, axis_name=Users)
assert_type(stored(x), Tensor)


# --- a named brand, by a decorator
@vmap(axis_name=Users)
def decorated(a: Vec[Users]) -> Vec[Users]:
    return a + 1


assert_type(decorated(x), Tensor)


# --- a named brand next to a row variable
def beside(u: Vec[Users], a: Vec[S]) -> Vec[Users | S]:
    return u + a


assert_type(vmap(lambda a: vmap(lambda u: beside(u, a), axis_name=Users)(x))(y), Tensor)

# --- the same named brand twice in sequence
assert_type(vmap(per_user, axis_name=Users)(vmap(per_user, axis_name=Users)(x)), Tensor)

# --- a string as a name
assert_type(vmap(lambda u: u * 2, axis_name="users")(x), Tensor)
vmap(lambda u: reveal_type(u), axis_name="users")(x)  # N: Vec[users,

# --- two strings as names
vmap(lambda u: vmap(lambda i: reveal_type(u * i), axis_name="items")(y), axis_name="users")(x)  # N: Vec[users | items,


# --- a name in a parameter
def by_name(name: str) -> Tensor:
    return vmap(lambda u: u * 2, axis_name=name)(x)


assert_type(by_name("users"), Tensor)

# --- a named brand in `with`
with brand(Users, 2) as users:
    assert_type(users.vec(x), Vec[Users])
    assert_type(users.unvec(users.vec(x) * 2), Tensor)
    assert_type(users.unvec(per_user(users.vec(x))), Tensor)

# --- two brands in `with`, one by a string
with brand("p", 2) as p, brand(Users, 3) as by_user:
    product = p.vec(x) * by_user.vec(y)
    assert_type(by_user.unvec(p.unvec(product)), Tensor)
    assert_type(p.unvec(by_user.unvec(product, axis=0), axis=-1), Tensor)

# --- two brands in `with`, each value seen
with brand("p", 2) as p1, brand("q", 3) as q1:
    reveal_type(p1.vec(x) * q1.vec(y))  # N: Vec[p | q,
    reveal_type(q1.unvec(p1.vec(x) * q1.vec(y)))  # N: Vec[p,

# --- a zip in `with`
with brand("r", 2) as r:
    assert_type(r.unvec(r.vec(x) + r.vec(x.exp())), Tensor)

# --- unvec repeats unbatched values
with brand("t", 2) as t:
    assert_type(t.unvec(y), Tensor)
    assert_type(t.unvec(1.0), Tensor)

# --- vmap within `with`
with brand(Users, 2) as w:
    a = w.vec(x)
    assert_type(vmap(lambda i: a * i)(y), Vec[Users])
    assert_type(w.unvec(vmap(lambda i: a * i)(y)), Tensor)


# --- `with` within a function of an open row
def table(a: Vec[S]) -> Vec[S]:
    with brand(Items, 3) as items:
        return items.unvec(items.vec(y) * a)


assert_type(vmap(table)(x), Tensor)

# --- entering a value of another brand
with brand("m", 3) as m:
    assert_type(vmap(lambda a: m.unvec(m.vec(y) + a))(x), Tensor)


# --- unvec of the empty row
def zipped(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


assert_type(unvec(zipped(x, x)), Tensor)
assert_type(unvec(x), Tensor)

# --- a generic function of plain tensors gives a plain tensor
assert_type(zipped(x, x), Tensor)
assert_type(double(x).realize(), Tensor)


# --- lift: a function of plain tensors on Vecs
def distance(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).square().sum().sqrt()


assert_type(vmap(lambda a: vmap(lambda b: lift(distance)(a, b))(y))(x), Tensor)

# --- lift, mapped
assert_type(vmap(lift(distance))(x, x), Tensor)


# --- lift, by rows
def lifted(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return lift(distance)(a, b)


# --- the row and the type of a value as text are plain
def texts(a: Vec[S]) -> None:
    assert_type(vec_type(a), str)
    assert_type(len(brands(a)), int)
    assert_type(f"{a!r}", str)


# --- the size and the name of a brand
with brand(Users, 2) as sized:
    assert_type(sized.size, int)
    assert_type(sized.name, str)
