"""Names of brands: open twice, or of another brand."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Users(Brand): ...


class Items(Brand): ...


def per_user(a: Vec[Users]) -> Vec[Users]:
    return a * 2


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


# --- a named brand is open twice
vmap(lambda a: vmap(lambda b: a + b, axis_name=Users)(y), axis_name=Users)(x)  # E: brand "Users" is already open

# --- a named brand is open twice, with another between
vmap(
    lambda a: vmap(
        lambda b: vmap(lambda c: a + b + c, axis_name=Users)(x),  # E: brand "Users" is already open
        axis_name=Items,
    )(y),
    axis_name=Users,
)(x)

# --- a named brand is open twice, of a named function
vmap(lambda a: vmap(double, axis_name=Users)(y), axis_name=Users)(x)  # E: axis_name: brand "Users" is already open


# --- a named brand is open twice, by vmap of vmap
vmap(vmap(double, axis_name=Users), axis_name=Users)(Tensor.ones(2, 2))  # E: axis_name: brand "Users" is already open

# --- a string is open twice
vmap(lambda a: vmap(lambda b: a + b, axis_name="u")(y), axis_name="u")(x)  # E: axis_name: brand "u" is already open


# --- a value of the named brand is in the row that is mapped
def again(a: Vec[Users]) -> Vec[Users]:
    return vmap(lambda b: b * 2, axis_name=Users)(a)  # E: axis_name: brand "Users" is already open


# --- `Brand` itself as a name
vmap(double, axis_name=Brand)(x)  # E: axis_name: `Brand` is the base class, not a brand

# --- the parameter is of another brand
vmap(per_user, axis_name="users")(x)  # E: argument 1 is mapped, but per_user wants "Vec[Users, Tensor]" for one example

# --- a value of the brand of `with` in a function of another
with brand(Items, 2) as items:
    item = items.vec(x)
    per_user(item)  # E: "per_user" has incompatible type "Vec[Items, Tensor]"; expected "Vec[Users, Tensor]"

# --- two brands of `with` meet in a variable of one
with brand(Users, 2) as users, brand(Items, 2) as items2:
    mine: Vec[Users] = users.vec(x) * items2.vec(y)  # E: Incompatible types in assignment

# --- a wrong size
with brand(Users, "2") as sized:  # E: No overload variant of "brand"
    pass

# --- vec() of an object that is not a tensor
with brand(Users, 2) as v:
    v.vec([1.0, 2.0])  # E: Argument 1 to "vec"

# --- unvec() of an object that is not a tensor
with brand(Users, 2) as uv:
    uv.unvec("x")  # E: No overload variant

# --- None as the axis of unvec()
with brand(Users, 2) as an:
    an.unvec(an.vec(x), axis=None)  # E: axis


# --- a class that is not a brand
vmap(double, axis_name=Tensor)(x)  # E: axis_name: Tensor is not a name


# --- a value of the brand of `with`, at once in a function of another
with brand(Items, 2) as items3:
    per_user(items3.vec(x))  # E: type "Vec[Items, Tensor]"; expected "Vec[Users, Tensor]"


# --- a function for another name, and then a read of the result
class Shops(Brand): ...


def of_shops(a: Vec[Shops]) -> Vec[Shops]:
    return a * 2


vmap(of_shops)(Tensor([1.0, 2.0])).tolist()  # E: vmap: argument 1 is mapped, but of_shops wants "Vec[Shops, Tensor]"
