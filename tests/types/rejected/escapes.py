"""A brand stays inside its vmap."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Users(Brand): ...


# --- by a function
vmap(lambda a: lambda: a)(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by a function in a tuple
vmap(lambda a: (a, lambda: a))(x)  # E: escape: brand "a" of this vmap is still in the result after it


# --- by a function of a named function
def closure(a: Vec[S]) -> Callable[[], Vec[S]]:
    return lambda: a


vmap(closure)(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by a function of a named function, stored
vmap(closure)  # E: escape: brand


# --- by a generator
def generate(a: Vec[S]) -> Iterator[Vec[S]]:
    yield a


vmap(generate)(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by an iterator
vmap(lambda a: iter([a]))(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by a set
vmap(lambda a: {a})(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by map()
vmap(lambda a: map(a.mul, [1, 2]))(x)  # E: escape: brand "a" of this vmap is still in the result after it

# --- by a function, from an inner vmap to an outer
vmap(lambda a: vmap(lambda b: lambda: a + b)(y))(x)  # E: escape: brand "b" of this vmap is still in the result after it

# --- by a typed list outside
kept: list[Tensor] = []
vmap(lambda a: kept.append(a))(x)  # E: "append" of "list" has incompatible type "Vec[a, Tensor]"; expected "Tensor"

# --- by a typed list outside, in a named function
results: list[Tensor] = []


def keep(a: Vec[S]) -> Vec[S]:
    results.append(a)  # E: Argument 1 to "append" of "list" has incompatible type "Vec[S, Tensor]"; expected "Tensor"
    return a


# --- by a typed dict outside
table: dict[str, Tensor] = {}


def keep_by_key(a: Vec[S]) -> Vec[S]:
    table["a"] = a  # E: Incompatible types in assignment
    return a


# --- by nonlocal
def nonlocal_() -> Tensor:
    out = x

    def body(a: Vec[S]) -> Vec[S]:
        nonlocal out
        out = (
            a  # E: Incompatible types in assignment (expression has type "Vec[S, Tensor]", variable has type "Tensor")
        )
        return a

    vmap(body)(x)
    return out


# --- by global
last = x


def global_(a: Vec[S]) -> Vec[S]:
    global last
    last = a  # E: Incompatible types in assignment (expression has type "Vec[S, Tensor]", variable has type "Tensor")
    return a


# --- by an attribute of an object outside
class Store:
    def __init__(self) -> None:
        self.value = x

    def body(self, a: Vec[S]) -> Vec[S]:
        self.value = a  # E: Incompatible types in assignment
        return a


# --- by an attribute of a dataclass outside
@dataclass
class Cell:
    value: Tensor


cell = Cell(x)


def into_cell(a: Vec[S]) -> Vec[S]:
    cell.value = (
        a  # E: Incompatible types in assignment (expression has type "Vec[S, Tensor]", variable has type "Tensor")
    )
    return a


# --- by setattr() in a lambda, where the type of the attribute is known
def set_value(value: Tensor) -> None:
    cell.value = value


vmap(lambda a: set_value(a))(x)  # E: "set_value" has incompatible type "Vec[a, Tensor]"; expected "Tensor"


# --- by a walrus outside of the lambda: a list of the outer brand keeps a value of the inner
def outer(a: Vec[S]) -> Vec[S]:
    mine: list[Vec[S]] = []
    vmap(lambda b: mine.append(a + b))(y)  # E: Argument 1 to "append" of "list" has incompatible type
    return mine[0]


# --- from an inner vmap to an outer, by nonlocal
def inner_to_outer(a: Vec[S]) -> Vec[S]:
    out = a

    def body(b: Vec[S1]) -> Vec[S | S1]:
        nonlocal out
        out = a + b  # E: Incompatible types in assignment
        return a

    vmap(body)(y)
    return out


# --- out of `with brand(...)`, into a variable of Tensor
def out_of_with() -> Tensor:
    with brand("users", 2) as users:
        out = users.vec(x)
    print(out)
    return out  # E: Incompatible return value type


# --- out of `with brand(Users, ...)`, into a variable of Tensor
def out_of_named() -> Tensor:
    with brand(Users, 2) as users:
        out = users.vec(x)
    print(out)
    return out  # E: Incompatible return value type (got "Vec[Users, Tensor]", expected "Tensor")


# --- one of two brands is left
def half() -> Tensor:
    with brand("p", 2) as p, brand("q", 2) as q:
        return p.unvec(p.vec(x) * q.vec(y))  # E: got "Vec[q, Tensor]", expected "Tensor")


# --- a brand that the value does not have is left
def wrong_brand() -> Tensor:
    with brand("p", 2) as p, brand("q", 2) as q:
        return q.unvec(p.vec(x))  # E: Incompatible return value type (got "Vec[p, Tensor]", expected "Tensor")


# --- by an argument of a callback of Tensor
def callback(f: Callable[[Tensor], None]) -> None:
    vmap(lambda a: f(a))(x)  # E: Argument 1 has incompatible type "Vec[a, Tensor]"; expected "Tensor"


# --- by an untyped list outside
def untyped_list() -> None:
    acc = []
    vmap(lambda a: acc.append(a))(x)  # E: escape


# --- out of a list of two rows
def of_list(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    both = [a, b]
    return both[0]  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")


# --- out of a dict of two rows
def of_dict(a: Vec[S]) -> Tensor:
    d = {"a": a, "x": x}
    return d["x"]  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- in a class, with rows
class Kept:
    last: Any

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def note(self, a: Vec[S]) -> None:
        self.seen.append(a)  # E: escape: a value that varies is kept in `self.seen`

    def __call__(self, a: Vec[S]) -> Vec[S]:
        self.note(a)
        return a

    def in_class(self, a: Vec[S]) -> Vec[S]:
        type(self).last = a  # E: escape: a value that varies is kept in `type(...).last`
        return a


vmap(Kept())(x)
vmap(Kept().in_class)(x)


# --- in a default value, with rows
def keep_in_default(a: Vec[S], into: list[Any] = []) -> Vec[S]:  # noqa: B006
    into.append(a)  # E: escape: a value that varies is kept in `into`
    return a


vmap(lambda a: keep_in_default(a))(x)


# --- in a partial and in an exception, with rows
anything: list[Any] = []


def keep_partial(a: Vec[S]) -> Vec[S]:
    anything.append(partial(Tensor.sin, a))  # E: escape: a value that varies is kept in `anything`
    if a.ndim > 1:
        raise ValueError("no vector", a)  # E: escape: a value that varies is raised in an exception
    return a


vmap(keep_partial)(x)
