"""Trees: wrong values, keys and fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypedDict, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


@dataclass
class State(Generic[S]):
    u: Vec[S]
    v: Vec[S]


class Point(NamedTuple, Generic[S]):
    u: Vec[S]
    v: Vec[S]


class Params(TypedDict):
    w: Tensor
    b: Tensor


params: Params = {"w": x, "b": y}


def step(s: State[S]) -> State[S]:
    return State(s.v, s.u)


# --- a key that a TypedDict does not have
vmap(lambda p: p["c"])(params)  # E: TypedDict "Params" has no key "c"

# --- a field that a dataclass does not have
vmap(lambda s: s.w)(State(x, y))  # E: "State[s]" has no attribute "w"

# --- a field that a NamedTuple does not have
vmap(lambda p: p.w)(Point(x, y))  # E: has no attribute "w"

# --- an item that a tuple does not have
vmap(lambda t: t[2])((x, y))  # E: Tuple index out of range


# --- a function of a plain TypedDict
def weighted(p: Params) -> Tensor:
    return p["w"] * p["b"]


vmap(weighted)(params)  # E: vmap: argument 1 is mapped, but weighted wants "Params" for one example


# --- a function of a dict of tensors
def first_weight(p: dict[str, Tensor]) -> Tensor:
    return p["w"]


vmap(first_weight)({"w": x})  # E: vmap: argument 1 is mapped, but first_weight wants "dict[str, Tensor]" for one

# --- a tuple where a dataclass is wanted
vmap(step)((x, y))  # E: vmap: argument 1 is mapped, but step wants "State[


# --- a dataclass of tensors that is not generic in the row
@dataclass
class Plain:
    w: Tensor
    b: Tensor


vmap(lambda p: p.w + p.b)(Plain(x, y))  # E: argument 1 is a Plain


# --- a dataclass of tensors within a tuple
vmap(lambda t: t[1].w)((x, Plain(x, y)))  # E: argument 1[1] is a Plain


# --- a number in a dataclass that is mapped
@dataclass
class Counted(Generic[S]):
    u: Vec[S]
    n: int


vmap(lambda c: c.u * c.n)(Counted(x, 3))  # E: argument 1.n is an int: there is no axis to map over


# --- a field is written with a value of an inner brand
def overwrite(s: State[S]) -> State[S]:
    vmap(lambda b: setattr_u(s, b))(y)  # E: "setattr_u" has incompatible type "State[S]"; expected "State[S | b]"
    return s


def setattr_u(s: State[S], b: Vec[S]) -> None:
    s.u = b


# --- a state of one row is made of two
S1 = TypeVar("S1", bound=Brand)


def mixed(a: Vec[S], b: Vec[S1]) -> State[S]:
    return State(a, b)  # E: Incompatible return value type (got "State[S | S1]", expected "State[S]")


# --- a state of plain tensors is not one of an open row to write to
def init(a: Vec[S]) -> State[S]:
    return State(a, a, a)  # E: Too many arguments for "State"


# --- a list of tensors gets a value that varies
def collect(a: Vec[S]) -> list[Tensor]:
    return [x, a]  # E: List item 1 has incompatible type "Vec[S, Tensor]"; expected "Tensor"


# --- a dict of tensors gets a value that varies
def by_key(a: Vec[S]) -> dict[str, Tensor]:
    return {"a": a}  # E: Dict entry 0 has incompatible type "str": "Vec[S, Tensor]"; expected "str": "Tensor"


# --- a TypedDict of tensors gets a value that varies
def typed(a: Vec[S]) -> Params:
    return {"w": x, "b": a}  # E: TypedDict item "b" has type "Tensor"


# --- a generator of tensors yields a value that varies
def generate(a: Vec[S]) -> Iterator[Tensor]:
    yield a  # E: Incompatible types in "yield" (actual type "Vec[S, Tensor]", expected type "Tensor")


# --- a default that varies not, for a parameter that is a number
def default(a: Vec[S], n: int = x) -> Vec[S]:  # E: Incompatible default for parameter "n"
    return a * n


# --- the result of a tree is not a tensor
pair: Tensor = vmap(lambda a: (a, a))(x)  # E: expression has type "tuple[Tensor, Tensor]", variable has type "Tensor")

# --- the result of a dict is not a list
items: list[Tensor] = vmap(lambda a: {"k": a})(x)  # E: Incompatible types in assignment


# --- a string cannot be stacked
vmap(lambda a: "s")(x)  # E: stack


# --- a string next to a tensor cannot be stacked
vmap(lambda a: (a, "name"))(x)  # E: stack


# --- an object cannot be stacked
class Box:
    def __init__(self, value: int) -> None:
        self.value = value


vmap(lambda a: Box(3))(x)  # E: stack


# --- a type cannot be stacked
vmap(lambda a: Tensor)(x)  # E: stack
