"""Trees of tensors as arguments and results."""

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Never, TypeAlias, TypedDict, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, optim, tree, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Point(NamedTuple, Generic[S]):
    u: Vec[S]
    v: Vec[S]


@dataclass
class State(Generic[S]):
    position: Vec[S]
    speed: Vec[S]


@dataclass(frozen=True)
class Body(Generic[S]):
    state: State[S]
    mass: Vec[S]


class Params(TypedDict):
    w: Tensor
    b: Tensor


class RowParams(TypedDict, Generic[S]):
    w: Vec[S]
    b: Vec[S]


class Pair(NamedTuple, Generic[S1, S2]):
    left: Vec[S1]
    right: Vec[S2]


params: Params = {"w": x, "b": y}

# --- a tuple as an argument
assert_type(vmap(lambda t: t[0] + t[1])((x, y)), Tensor)

# --- the items of a tuple have the brand
vmap(lambda t: reveal_type(t[0] + t[1]))((x, y))  # N: Vec[t,

# --- a tuple as a result
assert_type(vmap(lambda a: (a, a + y))(x), tuple[Tensor, Tensor])

# --- a list as an argument and as a result
assert_type(vmap(lambda v: v[0] + v[1])([x, y]), Tensor)
assert_type(vmap(lambda a: [a, a + y])(x), list[Tensor])

# --- a list is given back
assert_type(vmap(lambda v: v)([x, y]), list[Tensor])

# --- a dict as an argument
assert_type(vmap(lambda d: d["w"] + d["b"])({"w": x, "b": y}), Tensor)

# --- a dict as a result
assert_type(vmap(lambda a: {"k": a, "l": a + y})(x), dict[str, Tensor])

# --- a TypedDict as an argument
assert_type(vmap(lambda p: p["w"] * p["b"])(params), Tensor)

# --- a TypedDict is given back
assert_type(vmap(lambda p: p)(params)["w"], Tensor)


# --- a TypedDict that is generic in the row
def init(a: Vec[S]) -> RowParams[S]:
    return {"w": a, "b": a + 1}


vmap(init)(x)["w"].numpy()

# --- a NamedTuple as an argument
assert_type(vmap(lambda p: p.u + p.v)(Point(x, y)), Tensor)

# --- a NamedTuple as a result
assert_type(vmap(lambda a: Point(a, a + 1))(x).v, Tensor)
assert_type(vmap(lambda a: Point(a, a + 1))(x)[0], Tensor)

# --- a NamedTuple is unpacked
u, v = vmap(lambda a: Point(a, a + 1))(x)
assert_type(u, Tensor)


# --- a NamedTuple in a named function
def swap(p: Point[S]) -> Point[S]:
    return Point(p.v, p.u)


assert_type(vmap(swap)(Point(x, y)).u, Tensor)

# --- a dataclass as an argument
assert_type(vmap(lambda s: s.position + s.speed)(State(x, y)), Tensor)

# --- a dataclass as a result
assert_type(vmap(lambda s: State(s.position + s.speed, s.speed))(State(x, y)), State[Never])
assert_type(vmap(lambda s: State(s.position + s.speed, s.speed))(State(x, y)).position, Tensor)


# --- a dataclass in a named function
def step(s: State[S], dt: Vec[S]) -> State[S]:
    return State(s.position + s.speed * dt, s.speed)


assert_type(vmap(step)(State(x, y), x).position, Tensor)

# --- a dataclass in the type of a stored function
stored_step = vmap(step)
assert_type(stored_step(State(x, y), x).speed, Tensor)

# --- nested dataclasses
assert_type(vmap(lambda b: b.state.position * b.mass)(Body(State(x, y), x)), Tensor)
assert_type(vmap(lambda b: Body(b.state, b.mass * 2))(Body(State(x, y), x)).state.speed, Tensor)

# --- nested tuples, lists and dicts
assert_type(vmap(lambda t: t[0]["k"] + t[1][0][1])(({"k": x}, [(x, y)])), Tensor)
assert_type(vmap(lambda a: ({"k": a}, [(a, a + 1)]))(x), tuple[dict[str, Tensor], list[tuple[Tensor, Tensor]]])

# --- a dataclass of the plain row is shared
assert_type(vmap(lambda s, a: s.position.sum() * a, in_axes=(None, 0))(State(x, y), x), Tensor)


# --- a NamedTuple of two rows
def combine(p: Pair[S1, S2]) -> Vec[S1 | S2]:
    return p.left + p.right


assert_type(vmap(lambda a: vmap(lambda b: combine(Pair(a, b)))(y))(x), Tensor)


# --- an optional argument that is given
def maybe(a: Vec[S], bias: Vec[S] | None) -> Vec[S]:
    return a if bias is None else a + bias


assert_type(vmap(maybe)(x, y), Tensor)

# --- an optional argument with the value None
assert_type(vmap(maybe)(x, None), Tensor)
assert_type(vmap(maybe, in_axes=(0, None))(x, None), Tensor)


# --- an optional result
def maybe_result(a: Vec[S]) -> Vec[S] | None:
    return a if len(x) > 1 else None


assert_type(vmap(maybe_result)(x), Tensor | None)

# --- alias: a type alias with a row
Tree: TypeAlias = tuple[Vec[S], dict[str, Vec[S]]]


def aliased(t: Tree[S]) -> Tree[S]:
    return t[0] * 2, t[1]


assert_type(vmap(aliased)((x, {"k": y})), tuple[Tensor, dict[str, Tensor]])

# --- arguments that are not tensors need None
assert_type(vmap(lambda a, n: a * n, in_axes=(0, None))(x, 3), Tensor)
assert_type(vmap(lambda a, name: a * len(name), in_axes=(0, None))(x, "name"), Tensor)


# --- entries of a TypedDict that are not tensors need None
class Named(TypedDict):
    w: Tensor
    name: str


named: Named = {"w": x, "name": "w"}
assert_type(vmap(lambda d: d["w"] * len(d["name"]), in_axes=({"w": 0, "name": None},))(named), Tensor)


# --- a plain object is shared
class Config:
    scale = 2.0


assert_type(vmap(lambda a, c: a * c.scale, in_axes=(0, None))(x, Config()), Tensor)


# --- a function is shared
def twice(a: Vec[S]) -> Vec[S]:
    return a * 2


assert_type(vmap(lambda a, f: f(a), in_axes=(0, None))(x, twice), Tensor)

# --- trees at depth 2
assert_type(vmap(lambda p: vmap(lambda q: {"d": p["w"] - q["w"]})(params))(params), dict[str, Tensor])

# --- a dict in a comprehension
assert_type(vmap(lambda d: {k: v * 2 for k, v in d.items()})({"w": x, "b": y}), dict[str, Tensor])

# --- an empty tuple next to a tensor
assert_type(vmap(lambda a, t: a)(x, ()), Tensor)


# --- methods and properties of a dataclass
@dataclass
class Moving(Generic[S]):
    u: Vec[S]

    def moved(self, by: Vec[S1]) -> "Moving[S | S1]":
        return Moving(self.u + by)

    @property
    def norm(self) -> Vec[S]:
        return self.u.square().sum()


assert_type(vmap(lambda s: s.moved(s.u))(Moving(x)).u, Tensor)
assert_type(vmap(lambda s: s.norm)(Moving(x)), Tensor)

# --- a method of a dataclass, at two depths
assert_type(vmap(lambda s: vmap(lambda b: s.moved(b).u)(y))(Moving(x)), Tensor)

# --- a dataclass without vmap is plain
assert_type(Moving(x).norm, Tensor)
assert_type(Moving(x).moved(y).u, Tensor)

# --- dataclasses.replace
assert_type(vmap(lambda s: replace(s, u=s.u * 2))(Moving(x)).u, Tensor)


# --- a dataclass next to a tensor, in a tuple
def tick(s: State[S], a: Vec[S]) -> tuple[State[S], Vec[S]]:
    return State(s.position + a, s.speed), a


assert_type(vmap(tick)(State(x, y), x), tuple[State[Never], Tensor])


# --- a tensor or a list of tensors
def tensor_or_list(a: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
    return vmap(lambda v: v)(a)


# --- a TypedDict that is generic in the row, where one is declared
class RowWeights(TypedDict, Generic[S]):
    w: Vec[S]


def weights(a: Vec[S]) -> RowWeights[S]:
    return {"w": a}


row_params: RowWeights[Never] = vmap(weights)(x)


# --- a frozen dataclass of a covariant row: a shared one stands where a mapped one is wanted
S_co = TypeVar("S_co", bound=Brand, covariant=True)


@dataclass(frozen=True)
class Pose(Generic[S_co]):
    at: Vec[S_co]


def between(a: Pose[S], b: Pose[S]) -> Pose[S]:
    return Pose((a.at + b.at) / 2)


assert_type(vmap(between, in_axes=(0, None))(Pose(x), Pose(Tensor(1.0))).at, Tensor)
assert_type(vmap(lambda p: between(p, Pose(Tensor(1.0))))(Pose(x)), Pose[Never])


# --- a dict of tensors that all share, for a function of a dict of Vecs
def scaled_by(p: dict[str, Vec[S]], a: Vec[S]) -> Vec[S]:
    return p["w"] * a


assert_type(vmap(scaled_by, in_axes=(None, 0))({"w": x}, x), Tensor)


# --- axes by key of a TypedDict that is generic in the row
class Line(TypedDict, Generic[S]):
    slope: Vec[S]
    start: Vec[S]


def line(p: Line[S], a: Vec[S]) -> Vec[S]:
    return p["slope"] * a + p["start"]


lines: Line[Never] = {"slope": x, "start": Tensor(1.0)}
assert_type(vmap(line, in_axes=({"slope": 0, "start": None}, None))(lines, Tensor(2.0)), Tensor)


# --- an object of a declared row is made of parts of fewer rows
@dataclass
class Solid(Generic[S]):
    place: Vec[S]
    pace: Vec[S]


def at_rest(place: Vec[S]) -> Solid[S]:
    return Solid(place, Tensor(0.0))


def origin() -> Solid[S]:
    return Solid(Tensor(0.0), Tensor(0.0))


def widened(b: Solid[S], a: Vec[S1]) -> Solid[S | S1]:
    wide: Solid[S | S1] = Solid(b.place, b.pace)
    return Solid(wide.place + a, b.pace)


assert_type(vmap(at_rest)(x).pace, Tensor)

# --- tree.map gives each leaf the result type of the function
assert_type(tree.map(lambda a: a * 2, (x, [y])), tuple[Tensor, list[Tensor]])
assert_type(vmap(lambda a: tree.map(lambda p, g: p - g, {"w": y}, {"w": a}))(x), dict[str, Tensor])

# --- tree.map of leaves of different lengths
tree.map(lambda a: a * 2, {"w": Tensor([1.0, 2.0]), "b": Tensor([0.5])})


# --- tree.map of a class without brands
@dataclass
class Weights:
    w: Tensor


assert_type(tree.map(lambda p: p * 2, Weights(x)), Weights)

# --- tree.map of per-example and shared leaves
vmap(lambda a: reveal_type(tree.map(lambda p, g: p - g, [y], [a])))(x)  # N: list[branded.vec.Vec[a,

# --- tree.ravel varies over all that its leaves do
vmap(lambda a: reveal_type(tree.ravel({"w": a, "b": y})[0]))(x)  # N: Vec[a,

# --- an optimizer is two functions of trees
assert_type(optim.chain(optim.clip(1.0), optim.adam(optim.linear_schedule(0.1, 0.0, 9))), optim.GradientTransformation)
