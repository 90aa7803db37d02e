"""Fields that are no leaves, registered classes, and containers of any type."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Generic, NamedTuple, NotRequired, TypedDict, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, register_pytree_node, static, tree, vmap
from tests.types.other.layers import Dense, Scaled

S = TypeVar("S", bound=Brand)
T = TypeVar("T")
Static = Annotated[T, static]
x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0])


# --- static fields of a dataclass
@dataclass
class Layer(Generic[S]):
    w: Vec[S]
    activation: Annotated[str, static]
    f: Static[Callable[[Tensor], Tensor]] = Tensor.relu
    n: int = field(default=2, metadata={"static": True})

    def __call__(self, a: Vec[S]) -> Vec[S]:
        y = self.w * a
        return y.relu() if self.activation == "relu" else y * self.n


layers = Layer(x, "relu")
assert_type(vmap(lambda layer: layer.w * layer.n)(layers), Tensor)
assert_type(vmap(lambda a: Layer(a, "sin"))(x).n, int)
assert_type(vmap(lambda a: Layer(a, "sin"))(x).activation, str)
assert_type(tree.leaves(layers), list[Tensor])
vmap(lambda layer: 1 if layer.n > 2 else reveal_type(layer.w))(layers)  # N: Vec[layer,


# --- static fields of a named tuple
class Part(NamedTuple, Generic[S]):
    name: Annotated[str, static]
    w: Vec[S]
    size: Annotated[int, static] = 3


assert_type(vmap(lambda p: p.w * p.size)(Part("a", x)), Tensor)
assert_type(vmap(lambda p: p.w, in_axes=((0,),))(Part("a", x)), Tensor)
assert_type(vmap(lambda a: Part("a", a))(x).size, int)

# --- static fields of a class of another file
assert_type(vmap(lambda d: d.w * d.n)(Dense(x, "relu")), Tensor)
assert_type(vmap(lambda a: Dense(a, "relu"))(x).activation, str)
assert_type(vmap(lambda d: d.w * d.k)(Scaled("a", x)), Tensor)


# --- a registered class with other values in it
class Line(Generic[S]):
    def __init__(self, a: Vec[S], b: Vec[S], kind: str) -> None:
        self.a, self.b, self.kind = a, b, kind


register_pytree_node(Line, lambda ln: ((ln.a, ln.b), ln.kind), lambda kind, ab: Line(*ab, kind))
assert_type(vmap(lambda ln: ln.a + ln.b)(Line(x, x, "dashed")), Tensor)


# --- a registered dataclass
@dataclass
class Named(Generic[S]):
    a: Vec[S]
    name: str


register_pytree_node(Named, lambda n: ((n.a,), n.name), lambda name, children: Named(children[0], name))
assert_type(vmap(lambda n: n.a * 2)(Named(x, "a")), Tensor)


# --- keys that are not required
class Params(TypedDict):
    w: Tensor
    b: NotRequired[Tensor]


small: Params = {"w": x}
large: Params = {"w": x, "b": x}
assert_type(vmap(lambda p: p["w"] * 2, in_axes=({"w": 0},))(small), Tensor)
assert_type(vmap(lambda p: p["w"] * 2, in_axes=({"w": 0, "b": 0},))(large), Tensor)


# --- a container of any type
@dataclass
class Box(Generic[T]):
    item: T

    def get(self) -> T:
        return self.item


class Pair(NamedTuple, Generic[T]):
    item: T
    n: int = 1


assert_type(vmap(lambda b: b.item * 2)(Box(x)), Tensor)
vmap(lambda b: reveal_type(b.get()))(Box(x))  # N: Vec[b,
vmap(lambda b: reveal_type(b.item["w"]))(Box({"w": x}))  # N: Vec[b,
vmap(lambda b: reveal_type(Box([b.item])))(Box(x))  # N: branded.vec.Vec[b,
assert_type(vmap(lambda a: Box(a))(x), Box[Tensor])
assert_type(vmap(lambda a: Pair((a, y)))(x).item, tuple[Tensor, Tensor])

# --- a dict of a tensor and a number
assert_type(vmap(lambda d: d["x"] * d["n"], in_axes=({"x": 0, "n": None},))({"x": x, "n": 2}), Tensor)
assert_type(vmap(lambda a: {"x": a, "n": 1})(x), dict[str, Tensor])
