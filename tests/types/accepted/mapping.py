"""in_axes, out_axes and axis_size."""

from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 2)


class Params(TypedDict):
    w: Tensor
    b: Tensor


params: Params = {"w": x, "b": y}


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- an axis that is not the first
assert_type(vmap(lambda c: c.sum(), in_axes=1)(X), Tensor)

# --- a negative axis
assert_type(vmap(lambda c: c.sum(), in_axes=-1, out_axes=-1)(X), Tensor)

# --- None for a shared argument
assert_type(vmap(lambda w, a: (w * a).sum(), in_axes=(None, 0))(X, x), Tensor)

# --- shared values have no brand
vmap(lambda w, a: (reveal_type(w) * reveal_type(a)).sum(), in_axes=(None, 0))(X, x)  # N: "tinygrad  N: Vec[a,


# --- a shared argument may be declared a Tensor
def dot(w: Tensor, a: Vec[S]) -> Vec[S]:
    return (w * a).sum()


assert_type(vmap(dot, in_axes=(None, 0))(x, y), Tensor)

# --- a shared argument of a stored function
stored_dot = vmap(dot, in_axes=(None, 0))
assert_type(stored_dot(x, y), Tensor)

# --- axes as a list
assert_type(vmap(add, in_axes=[0, None])(x, y), Tensor)

# --- the positions of in_axes and out_axes
assert_type(vmap(add, (0, 0), 0)(x, y), Tensor)

# --- axes of a tuple
vmap(lambda t: reveal_type(t[0]), in_axes=((0, None),))((x, y))  # N: Vec[t,
vmap(lambda t: reveal_type(t[1]) + t[0], in_axes=((0, None),))((x, y))  # N: "tinygrad

# --- axes of a dict, by key
assert_type(vmap(lambda p, a: p["w"] * a + p["b"], in_axes=({"b": None, "w": 0}, 0))({"w": x, "b": y}, x), Tensor)

# --- axes of a TypedDict, by key
vmap(lambda p: reveal_type(p["w"]) + p["b"], in_axes=({"b": None, "w": 0},))(params)  # N: Vec[p,
vmap(lambda p: reveal_type(p["b"]) + p["w"], in_axes=({"b": None, "w": 0},))(params)  # N: "tinygrad

# --- axes of nested trees
assert_type(
    vmap(lambda t, a: t[0][0] + t[1]["k"] + a, in_axes=(((0, None), {"k": 0}), None))(((x, y), {"k": y}), x), Tensor
)

# --- one axis for a whole tree
assert_type(vmap(lambda t, a: t[0] + t[1]["k"] + a, in_axes=(0, None))((x, {"k": y}), x), Tensor)

# --- None for a whole tree
assert_type(vmap(lambda p, a: p["w"] + a, in_axes=(None, 0))(params, x), Tensor)

# --- axes in a variable
axes = (0, None)
assert_type(vmap(add, in_axes=axes)(x, y), Tensor)
assert_type(vmap(lambda a, b: a + b, in_axes=axes)(x, y), Tensor)

# --- an axis in a variable
axis = 1
assert_type(vmap(lambda c: c.sum(), in_axes=axis, out_axes=axis - 1)(X), Tensor)


# --- an axis in a parameter
def along(values: Tensor, axis: int) -> Tensor:
    return vmap(lambda c: c.sum(), in_axes=axis)(values)


# --- axes in a parameter
def by_axes(ways: tuple[int | None, int]) -> Tensor:
    return vmap(add, in_axes=ways)(x, y)


# --- axes in a variable that is a dict
by_key = {"w": 0, "b": None}
assert_type(vmap(lambda p: p["w"] * p["b"], in_axes=(by_key,))({"w": x, "b": y}), Tensor)

# --- out_axes is an axis
assert_type(vmap(lambda r: r * 2, out_axes=1)(X), Tensor)

# --- out_axes of a tuple
assert_type(vmap(lambda r: (r * 2, r.sum()), out_axes=(1, 0))(X), tuple[Tensor, Tensor])

# --- out_axes of a dict
assert_type(vmap(lambda r: {"a": r, "b": r.sum()}, out_axes={"a": 1, "b": 0})(X), dict[str, Tensor])

# --- out_axes=None for an unbatched value
assert_type(vmap(lambda a: y, out_axes=None)(x), Tensor)
assert_type(vmap(lambda a: (a, y), out_axes=(0, None))(x), tuple[Tensor, Tensor])


# --- out_axes=None for an unbatched value of a named function
def constant(a: Vec[S]) -> Tensor:
    return y


assert_type(vmap(constant, out_axes=None)(x), Tensor)

# --- out_axes=None for an object that is not a tensor
assert_type(vmap(lambda a: (a, "name"), out_axes=(0, None))(x), tuple[Tensor, str])

# --- out_axes in a variable
out = (0, None)
assert_type(vmap(lambda a: (a, y), out_axes=out)(x), tuple[Tensor, Tensor])

# --- out_axes=None in an inner vmap, for a value of the outer one
assert_type(vmap(lambda a: vmap(lambda b: a * 2, out_axes=None)(y))(x), Tensor)

# --- axis_size where nothing is mapped
assert_type(vmap(lambda a: a * 2, in_axes=None, axis_size=3)(x), Tensor)

# --- axis_size without arguments
assert_type(vmap(lambda: y * 2, axis_size=3)(), Tensor)

# --- nothing is mapped in an outer vmap, but in the inner one
assert_type(vmap(lambda a: vmap(lambda k, b: k * b, in_axes=(None, 0))(a, y))(x), Tensor)


# --- axes of a dataclass
@dataclass
class State(Generic[S]):
    u: Vec[S]
    v: Vec[S]


assert_type(vmap(lambda s: s.u + s.v, in_axes=(1,))(State(X, X)), Tensor)

# --- keyword arguments together with in_axes
assert_type(vmap(lambda a, b: a + b, in_axes=(1,))(X, b=X), Tensor)


# --- axes of a decorator in a list
@vmap(in_axes=[None, 0], out_axes=0)
def weighted(w: Tensor, a: Vec[S]) -> Vec[S]:
    return w * a


assert_type(weighted(x, y), Tensor)
