"""Fields that cannot be mapped, and values in containers that are read."""

from dataclasses import dataclass
from typing import Annotated, Generic, NotRequired, TypedDict, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, register_pytree_node, static, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
T = TypeVar("T")
x = Tensor([[1.0, 2.0], [3.0, 4.0]])


@dataclass
class Layer(Generic[S]):
    w: Vec[S]
    activation: Annotated[str, static]
    name: str = ""


@dataclass
class Box(Generic[T]):
    item: T


# --- a field that is not static
vmap(lambda layer: layer.w)(Layer(x, "relu"))  # E: in_axes: argument 1.name is a str: there is no axis to map over

# --- a leaf next to static fields is read
vmap(lambda a: Layer(a, "relu").w.item())(x)  # E: item: a value that varies over "a"

# --- the content of a container of type Any is read
vmap(lambda b: b.item.item())(Box(x))  # E: item: a value that varies over "b"
vmap(lambda b: b.item["w"].numpy())(Box({"w": x}))  # E: numpy: a value that varies over "b"

# --- the content of a container of type Any has no axis
vmap(lambda b: b.item)(Box(2))  # E: in_axes: argument 1.item is an int: there is no axis


# --- a key that no dict has
class Params(TypedDict):
    w: Tensor
    b: NotRequired[Tensor]


small: Params = {"w": x}
vmap(lambda p: p["w"], in_axes=({"w": 0, "c": 0},))(small)  # E: have different keys: `c` is in one of them

# --- a key that every dict has, and another one
vmap(lambda p: p["w"], in_axes=({"c": 0},))(small)  # E: have different keys: `c` and `w` are in one of them

# --- a number that is mapped
vmap(lambda d: d["x"])({"x": x, "n": 1})  # E: in_axes: argument 1['n'] is an int: there is no axis to map over


# --- a class that is registered with other children
class Line:
    def __init__(self, a: Tensor, kind: str) -> None:
        self.a, self.kind = a, kind


register_pytree_node(Line, lambda ln: ((ln.a,), ln.kind), lambda kind, ab: Line(ab[1], kind))  # E: Tuple index out


# --- the fields of a class, with one wrong declaration
@dataclass
class Spot(Generic[S]):
    at: Vec[S]


@dataclass
class Scene(Generic[S]):
    spot: Spot[S]
    time: Vec[S]


def later(scene: Scene[S], dt: Vec[S1]) -> Scene[S]:
    spot = Spot(scene.spot.at + dt)
    return Scene(spot=spot, time=scene.time + dt)  # E: Argument "spot" to "Scene" has incompatible type
