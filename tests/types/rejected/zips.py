"""Declared brands that differ from the body's, and bodies that are not generic."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Never, TypeVar, overload

from tinygrad import Tensor, nn

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Users(Brand): ...


class Items(Brand): ...


# --- two brands meet where one is declared
def zipped(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return a + b  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S1, Tensor]")


# --- two brands meet in a product of matrices
def product(a: Vec[S1], b: Vec[S2]) -> Vec[S2]:
    return a @ b  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S2, Tensor]")


# --- the condition of where has a brand too
def where(a: Vec[S1], b: Vec[S2]) -> Vec[S2]:
    return (a > 0).where(b, 0)  # E: Incompatible return value type


# --- users and items meet where users are declared
def score(u: Vec[Users], i: Vec[Items]) -> Vec[Users]:
    return u * i  # E: Incompatible return value type (got "Vec[Users | Items, Tensor]", expected "Vec[Users, Tensor]")


# --- users and items meet in a variable of users
def assigned(u: Vec[Users], i: Vec[Items]) -> None:
    out: Vec[Users] = u + i  # E: Incompatible types in assignment
    print(out)


# --- an outer brand is left out of the declared row
def outer(a: Vec[S]) -> Vec[S]:
    def inner(b: Vec[S1]) -> Vec[S1]:
        return a + b  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S1, Tensor]")

    return vmap(inner)(y)


# --- the declared result is plain, but varies
def plain_result(a: Vec[S]) -> Tensor:
    return a * 2  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- the declared result is of the empty row, but varies
def empty_result(a: Vec[S]) -> Vec[Never]:
    return a * 2  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Vec[Never, Tensor]")


# --- the result of an inner vmap varies over the outer brand
def inner_result(a: Vec[S]) -> Tensor:
    return vmap(lambda b: a + b)(y)  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- a result that is declared another row
def other(a: Vec[S1], b: Vec[S2]) -> Vec[S2]:
    return a  # E: Incompatible return value type (got "Vec[S1, Tensor]", expected "Vec[S2, Tensor]")


# --- a body of Tensor
def monomorphic(a: Tensor) -> Tensor:
    return a.realize()


vmap(monomorphic)(x)  # E: argument 1 is mapped, but monomorphic wants "Tensor" for one example

# --- a body of Tensor, stored
vmap(monomorphic)  # E: argument 1 is mapped, but monomorphic wants "Tensor" for one example


# --- a body of Tensor, decorated
@vmap  # E: wants "Tensor" for one example
def decorated(a: Tensor) -> Tensor:
    return a * 2


# --- a body of Tensor, decorated with options
@vmap(in_axes=(None, 0))  # E: wants "Tensor" for one example
def decorated_options(w: Tensor, a: Tensor) -> Tensor:
    return w * a


# --- a body whose second parameter is a Tensor
def second(a: Vec[S], w: Tensor) -> Vec[S]:
    return a * w


vmap(second)(x, y)  # E: argument 2 is mapped, but second wants "Tensor" for one example

# --- a body whose second parameter is a Tensor, stored
vmap(second)  # E: argument 2 is mapped


# --- a body of the empty row
def of_empty(a: Vec[Never]) -> Vec[Never]:
    return a * 2


vmap(of_empty)(x)  # E: argument 1 is mapped, but of_empty wants "Vec[Never, Tensor]" for one example


# --- a body of a number
def of_float(a: float) -> float:
    return a * 2


vmap(of_float)(x)  # E: argument 1 is mapped, but of_float wants "float" for one example


# --- a method of Tensor
class Model:
    def step(self, a: Tensor) -> Tensor:
        return a * 2


vmap(Model().step)(x)  # E: for one example


# --- an instance that takes a Tensor
class Layer:
    def __call__(self, a: Tensor) -> Tensor:
        return a * 2


vmap(Layer())(x)  # E: for one example


# --- a partial of a function of Tensor
def distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum()


vmap(partial(distance, x))(y)  # E: for one example


# --- overloads without a Vec
@overload
def loaded(a: Tensor) -> Tensor: ...
@overload
def loaded(a: float) -> float: ...
def loaded(a: Any) -> Any:
    return a * 2


vmap(loaded)(x)  # E: vmap: no overload variant of "loaded" matches argument type "Vec[a, Tensor]"


# --- a body of a named brand, in a vmap without a name
def per_user(a: Vec[Users]) -> Vec[Users]:
    return a * 2


vmap(per_user)(x)  # E: argument 1 is mapped, but per_user wants "Vec[Users, Tensor]" for one example

# --- a body of a named brand, in a vmap of another
vmap(per_user, axis_name=Items)(x)  # E: argument 1 is mapped, but per_user wants "Vec[Users, Tensor]" for one example

# --- a body of a named brand, stored without the name
vmap(per_user)  # E: argument 1 is mapped, but per_user wants "Vec[Users, Tensor]" for one example

# --- a value of one named brand passed as one of another
vmap(lambda i: per_user(i), axis_name=Items)(x)  # E: type "Vec[Items, Tensor]"; expected "Vec[Us

# --- a value of two named brands passed as one of one
vmap(lambda u: vmap(lambda i: per_user(u * i), axis_name=Items)(y), axis_name=Users)(x)  # E: incompatible type "Vec[Us

# --- a vmapped function declared with another result
wrong: int = vmap(lambda a: a * 2)(x)  # E: expression has type "Tensor", variable has type "int")

# --- a vmapped function of one example gives one example
one: int = vmap(nn.Linear(2, 2))(x)  # E: expression has type "Tensor", variable has type "int")


# --- an in-place operator gives a variable another row
def in_place(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    out = a * 2
    out += b  # E: +=: a value that varies over "S1" and "S2" cannot be written into `out`
    return out


# --- a result whose row is not declared
def no_row(a: Vec[S]) -> Vec:
    return a  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Vec[Never, Tensor]")


# --- a parameter whose row is not declared
def no_row_parameter(a: Vec) -> Tensor:
    return a.sum()


def with_row(a: Vec[S]) -> Vec[S]:
    return no_row_parameter(a) + a  # E: incompatible type "Vec[S, Tensor]"; expected "Vec[Never, Tensor]"


# --- a result whose type is not declared
def no_result(a: Vec[S]):  # E: Function is missing a return type annotation
    return a


# --- a class that is not a brand, in a type
def no_brand(a: Vec[int]) -> Tensor:  # E: Type argument "int" of "Vec" must be a subtype of "Brand"
    return x


# --- a tensor as a row
def tensor_row(a: Vec[Tensor]) -> Tensor:  # E: Type argument "Tensor" of "Vec" must be a subtype of "Brand"
    return x


# --- a Vec is not made by its class
Vec(x)  # E: Vec


# --- a field of another row
@dataclass
class Plain:
    w: Tensor


def fill(a: Vec[S]) -> Plain:
    return Plain(a)  # E: Argument 1 to "Plain" has incompatible type "Vec[S, Tensor]"; expected "Tensor"


# --- a write into a tensor that all share
def write(a: Vec[S]) -> Vec[S]:
    y.assign(a)  # E: Argument 1 to "assign"
    return a


# --- a write by index into a tensor that all share
def write_index(a: Vec[S]) -> Vec[S]:
    y[0] = a  # E: Vec[S, Tensor]
    return a


# --- overloads without a Vec, stored
vmap(loaded)  # E: vmap: no overload of the function accepts one example of the arguments


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- the index has a brand too
def lookup(table: Vec[S1], i: Vec[S2]) -> Vec[S1]:
    return table[i]  # E: Incompatible return value type


# --- the declared result is wrong, by gather
def gather(a: Vec[S1], i: Vec[S2]) -> Vec[S1]:
    return a.gather(0, i)  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S1, Tensor]")


# --- the declared result is wrong, by linear
def linear(a: Vec[S1], w: Vec[S2]) -> Vec[S1]:
    return a.linear(w)  # E: Incompatible return value type


# --- the declared result is wrong, by maximum
def maximum(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return a.maximum(b)  # E: Incompatible return value type


# --- the declared result is wrong, by a function
def by_function(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return add(a, b)  # E: Incompatible return value type
