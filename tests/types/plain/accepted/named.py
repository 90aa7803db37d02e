"""Named brands, and brands without a function."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, brand, pmean, psum, unvec, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])


class Users(Brand): ...


class Items(Brand): ...


# --- a body of a named brand
def per_user(u: Vec[Users]) -> Vec[Users]:
    return u * 2


vmap(per_user, axis_name=Users)(x)


# --- two named brands
def score(u: Vec[Users], i: Vec[Items]) -> Vec[Users | Items]:
    return u * i


vmap(vmap(score, in_axes=(None, 0), axis_name=Items), in_axes=(0, None), axis_name=Users)(x, y)


# --- a named brand next to a type variable
def beside(u: Vec[Users], a: Vec[S]) -> Vec[Users | S]:
    return u + a


# --- a named brand in `with`
with brand(Users, 2) as users:
    assert_type(users.vec(x), Vec[Users])
    assert_type(unvec(users.unvec(users.vec(x) * 2)), Tensor)

# --- two named brands in `with`, and back to a table
with brand(Users, 2) as users2, brand(Items, 3) as items2:
    every = users2.vec(x) * items2.vec(y)
    assert_type(every, Vec[Users | Items])
    table = unvec(users2.unvec(items2.unvec(every, axis=0), axis=0))
    assert_type(table, Tensor)

# --- a function of a named brand in `with`
with brand(Users, 2) as users3:
    assert_type(unvec(users3.unvec(per_user(users3.vec(x)))), Tensor)


# --- a vmap in `with`
def add(a: Vec[S]) -> Vec[S]:
    return a + 1


with brand(Users, 2) as users4:
    assert_type(vmap(add)(users4.vec(Tensor.ones(2, 3))), Vec[Users])


# --- a brand named by a string, zipped
with brand("points", 2) as points:
    p = points.vec(x)
    assert_type(unvec(points.unvec(p + p)), Tensor)


# --- one of two brands is removed
def of_items(a: Vec[Users | Items]) -> Vec[Items]:
    return psum(a, Users)


def of_users(u: Vec[Users]) -> Vec[Users]:
    return vmap(lambda i: score(u, i), axis_name=Items)(y)


# --- the last brand is removed
def total(a: Vec[Users | Items]) -> Tensor:
    return unvec(psum(psum(a, Users), Items))


# --- a sum over a brand meets the value that it is of
def centered(a: Vec[Users]) -> Vec[Users]:
    return a - pmean(a, Users)


def centered_beside(a: Vec[Users | S]) -> Vec[Users | S]:
    return a - pmean(a, Users)
