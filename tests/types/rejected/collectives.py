"""Collectives: brands that are not taken out, and those that are put in."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, all_gather, all_to_all, axis_index, axis_size, brand, pmax, pmean, ppermute, psum, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
X = Tensor([[1.0, 2.0], [3.0, 4.0]])


class Users(Brand): ...


class Items(Brand): ...


# --- the sum over a brand that is not open
vmap(lambda u: psum(u, Items), axis_name=Users, out_axes=None)(x)  # E: psum: no brand Items is open here

# --- the sum over another string is returned as shared
vmap(lambda u: vmap(lambda i: psum(u * i, "u"), axis_name="i", out_axes=None)(y), axis_name="u")(x)  # E: out_axes: None

# --- the sum of one of two is returned as shared
vmap(lambda u: (psum(u, Users), u), axis_name=Users, out_axes=None)(x)  # E: out_axes: None needs a result


# --- the sum over another brand is declared plain
def plain(u: Vec[Users | Items]) -> Tensor:
    return psum(u, Users)  # E: Incompatible return value type (got "Vec[Items, Tensor]", expected "Tensor")


# --- the same, and a call of the function with `out_axes=None`
def spread(u: Vec[Users | S]) -> Vec[S]:
    return u + pmax(-u, Users)  # E: Incompatible return value type (got "Vec[Users | S, Tensor]", expected "Vec[S


vmap(spread, axis_name=Users, out_axes=None)(x)


# --- the mean of any row is declared plain
def any_row(u: Vec[Users | S]) -> Tensor:
    return pmean(u, Users)  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- the value is declared plain, and not its sum
def unsummed(u: Vec[Users]) -> Tensor:
    return u / psum(u, Users)  # E: Incompatible return value type (got "Vec[Users, Tensor]", expected "Tensor")


# --- a sum over users alone is read
def read(u: Vec[Users | Items]) -> float:
    out: float = psum(u, Users).item()  # E: item: a value that varies over "Items" has no single value to read
    return out


# --- if on the maximum over another brand
def largest(u: Vec[Users | Items]) -> Vec[Users | Items]:
    return u if pmax(u, Users) > 0 else -u  # E: bool: a value that varies over "Items" has no single truth value


# --- all_gather keeps the other brand
def gathered(u: Vec[Users | Items]) -> Tensor:
    return all_gather(u, Users)  # E: Incompatible return value type (got "Vec[Items, Tensor]", expected "Tensor")


# --- a sum over a tree
def tree(u: Vec[Users], i: Vec[Items]) -> tuple[Tensor, Tensor]:
    return psum((u, i), Users)  # E: Incompatible return value type (got "tuple[Tensor, Vec[Items, Tensor]]"


# --- ppermute still varies
vmap(lambda u: ppermute(u, "u", [(0, 1)]), axis_name="u", out_axes=None)(x)  # E: out_axes: None needs a result


# --- ppermute of an unbatched value
def permuted(a: Vec[S]) -> Vec[S]:
    return ppermute(a, Users, [(0, 1)])  # E: (got "Vec[S | Users, Tensor]", expected "Vec[S, Tensor]")


# --- all_to_all still varies
vmap(lambda r: all_to_all(r, "i", 0, 0), axis_name="i", out_axes=None)(X)  # E: out_axes: None needs a result


# --- axis_index is declared plain
def index() -> Tensor:
    return axis_index(Users)  # E: Incompatible return value type (got "Vec[Users, Tensor]", expected "Tensor")


# --- axis_index is read
vmap(lambda u: u * axis_index("u").item(), axis_name="u")(x)  # E: item: a value that varies over "u" has no single valu

# --- a collective of a string
vmap(lambda u: psum("text", "u"), axis_name="u", out_axes=None)(x)  # E: psum: the value is a str, not a tensor

# --- a collective without a name
vmap(lambda u: psum(u), axis_name="u")(x)  # E: psum

# --- a number as a name
vmap(lambda u: psum(u, 1), axis_name="u", out_axes=None)(x)  # E: psum: "int" is not the name of a brand

# --- a class that is not a brand as a name
vmap(lambda u: psum(u, Tensor), axis_name="u")(x)  # E: psum: "type[Tensor]" is not the name of a brand
vmap(lambda u: u * axis_size(Brand), axis_name="u")(x)  # E: axis_size: "type[Brand]" is not the name of a brand

# --- an opened brand is summed over, and the other is left
with brand("p", 2) as p, brand("q", 3) as q:
    total: Tensor = psum(p.vec(x) * q.vec(y), p)  # E: (expression has type "Vec[q, Tensor]", variable has type "Tensor"

# --- the size of a brand is not a tensor
vmap(lambda u: axis_size("u").sum(), axis_name="u")(x)  # E: "int" has no attribute "sum"

# --- wrong pairs
vmap(lambda u: ppermute(u, "u", [0, 1]), axis_name="u")(x)  # E: ppermute


# --- a function of users, of items
def share(u: Vec[Users]) -> Vec[Users]:
    return u / psum(u, Users)


vmap(share, axis_name=Items)(x)  # E: argument 1 is mapped, but share wants "Vec[Users, Tensor]" for one example


# --- the brand of a class that is not open
class Admins(Users): ...


vmap(lambda u: psum(u, Items))(x)  # E: psum: no brand Items is open here
vmap(lambda u: psum(u, Users), axis_name=Admins)(x)  # E: psum: no brand Users is open here
vmap(lambda u: ppermute(u, Items, [(0, 1), (1, 0)]))(x)  # E: ppermute: no brand Items is open here
vmap(lambda u: u * axis_index(Items))(x)  # E: axis_index: no brand Items is open here


# --- a collective where nothing is open
psum(x, Users)  # E: psum: no brand Users is open here
psum(x, "users")  # E: psum: no brand 'users' is open here
vmap(lambda u: u / axis_size("i"))(x)  # E: axis_size: no brand 'i' is open here


# --- a function with a collective over a brand that is not open
def center(u: Vec[Users | S]) -> Vec[Users | S]:
    return u - pmean(u, Users)


def named_total(u: Vec[S]) -> Vec[S]:
    return psum(u, "users")


def both(u: Vec[Users | S]) -> Vec[Users | S]:
    v = center(u)
    return v * 2


class Norm:
    def __call__(self, u: Vec[Users | S]) -> Vec[S]:
        return pmax(u, Users)


vmap(center)(x)  # E: pmean: no brand Users is open here
vmap(lambda u: center(u))(x)  # E: pmean: no brand Users is open here
vmap(both, axis_name=Items)(x)  # E: pmean: no brand Users is open here
vmap(center, axis_name=Admins)(x)  # E: pmean: no brand Users is open here
vmap(share, axis_name=Admins)(x)  # E: psum: no brand Users is open here
vmap(named_total, axis_name="user")(x)  # E: psum: no brand 'users' is open here
vmap(Norm())(x)  # E: pmax: no brand Users is open here
center(x)  # E: pmean: no brand Users is open here


# --- a function that needs a name that is not open, and then reads and vmaps of its result
def share_of_users(a: Vec[Users | S]) -> Vec[Users | S]:
    return a / psum(a, Users)


def shares_without_names() -> None:
    shares = vmap(share_of_users)(x)  # E: psum: no brand Users is open here
    print(shares.sum().item(), vmap(share_of_users, axis_name=Users)(shares))
