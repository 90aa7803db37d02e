"""Programs whose data has known shapes, and in which nothing is wrong with them."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Axes, Brand, as_axes, cond, fori_loop, grad, jit, jvp, ppermute, random, scan, vmap, while_loop
from tests.types.other import shapes as other

Table = list[Tensor]
N = TypeVar("N", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


def dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


# --- two names of one length
n = 3
m = n
vmap(dot)(Tensor.ones(n, 2), Tensor.ones(m, 2))


def equal_lengths(p: int, q: int) -> Tensor:
    assert p == q
    return vmap(lambda a, b: a + b)(Tensor.ones(p), Tensor.ones(q))


equal_lengths(3, 3)

# --- a reshape between lengths
flat = Tensor.arange(12).reshape(3, -1)
vmap(dot)(flat, Tensor.ones(3, 4))
vmap(dot)(flat.reshape(4, 3).T, Tensor.ones(3, 4))


# --- wrong axes do not run
def any_pair(a: Tensor, b: Tensor) -> Tensor:
    if a.shape[0] != b.shape[0]:
        return vmap(lambda x: vmap(lambda y: dot(x, y))(b))(a)
    return vmap(dot)(a, b)


any_pair(Tensor.ones(3, 2), Tensor.ones(4, 2))
any_pair(Tensor.ones(3, 2), Tensor.ones(3, 2))


def as_matrix(a: Tensor) -> Tensor:
    if a.ndim == 1:
        a = a.reshape(1, -1)
    return vmap(lambda row: row + Tensor.ones(4))(a)


as_matrix(Tensor.ones(4))
as_matrix(Tensor.ones(2, 4))

# --- a mistake on purpose
try:
    vmap(dot)(Tensor.ones(3, 2), Tensor.ones(4, 2))
except Exception as error:
    print(type(error))
with contextlib.suppress(Exception):
    Tensor.ones(3, 2) @ Tensor.ones(3, 2)

# --- a variable of several shapes
x = Tensor.ones(3)
for _ in range(2):
    x = Tensor.stack(x, x).flatten()
vmap(lambda a, b: a + b)(x, Tensor.ones(12))
w = Tensor.ones(2, 3)
for _ in range(3):
    w = w.T
vmap(lambda row: row + Tensor.ones(2))(w)


# --- lists and objects that change
@dataclass
class State:
    values: Tensor
    seen: Table


def grow(state: State) -> None:
    state.values = Tensor.cat(state.values, Tensor.ones(2))
    state.seen.append(state.values)


state = State(Tensor.ones(2), [])
grow(state)
grow(state)
vmap(lambda a, b: a + b)(state.values, Tensor.ones(6))
vmap(lambda a, b: a + b)(state.seen[-1], Tensor.ones(6))
also = state
also.values = Tensor.ones(5)
vmap(lambda a, b: a + b)(state.values, Tensor.ones(5))

# --- a closure of a variable that changes
scale = Tensor.ones(3)


@jit
def scaled(a: Tensor) -> Tensor:
    return a * 2


def add(a: Tensor) -> Tensor:
    return a + scale


add(Tensor.ones(3))
scale = Tensor.ones(4)
add(scaled(Tensor.ones(4)))

# --- a new name for an axis
X = as_axes(Tensor.ones(3, 3), Users, Items)
as_axes(X.mean(axis=1), Items)


# --- lengths with two names
def zipped(n_users: int, n_items: int) -> Tensor:
    users, items = Tensor.ones(n_users), Tensor.ones(n_items)
    return vmap(lambda a, b: a + b)(users, items)  # N: the lengths `n_users` and `n_items`


# --- values that are floats, defaults, sums and slices
@dataclass(frozen=True)
class Settings:
    rate: float
    scale: Tensor = field(default_factory=lambda: Tensor([1.0, 2.0]))
    size: int = 2

    @property
    def decay(self) -> float:
        return math.exp(-self.rate)


def registered(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    steps[f.__name__] = f
    return f


steps: dict[str, Callable[[Tensor], Tensor]] = {}


@registered
def halved(x: Tensor) -> Tensor:
    return x / math.sqrt(4)


@registered
def centered(x: Tensor) -> Tensor:
    return x - x.mean()


def advance(s: Settings, x: Tensor) -> Tensor:
    return s.decay * x[: s.size] * s.scale


table = Tensor.ones(3, 5)
settings = replace(Settings(0.5), size=2)
firsts = vmap(lambda row: advance(settings, row))(table)
assert firsts.shape == (3, 2)
by_name = {name: vmap(step)(table) for name, step in steps.items()}
assert sum((vmap(lambda row: row.sum())(t) for t in by_name.values()), Tensor.zeros(3)).shape == (3,)
weights = Tensor.ones(5)
for _ in range(2):
    weights = weights - 0.1 * grad(lambda w: vmap(lambda row: (row * w).sum())(table).mean())(weights)
samples = vmap(lambda key: random.normal(key, (2,)))(random.split(random.key(0), 3))
assert vmap(lambda a, b: a.cat(b))(samples, firsts).shape == (3, 4)


# --- loops whose carry keeps its shape, and pairs of a ppermute
COUNT = 4
RING = [(i, (i + 1) % COUNT) for i in range(COUNT)]


def shifted(x: Tensor) -> Tensor:
    return ppermute(x, Users, RING) + ppermute(x, Users, [(0, 1), (1, 0)])


four = Tensor.ones(COUNT)
vmap(shifted, axis_name=Users)(four)
vmap(lambda x: x, axis_size=4)(four)
vmap(lambda x: while_loop(lambda c: (c < 3).all(), lambda c: c + 1, x.reshape(1)))(four)
vmap(lambda x: fori_loop(0, 3, lambda i, c: c + i, x))(four)
assert vmap(lambda x: scan(lambda c, _: (c + 1, c), x, length=3)[1])(four).shape == (4, 3)
scan(lambda c, x: (c + x, c), 0, four)
vmap(lambda x: cond(x > 1, lambda: four, lambda: four * 2))(four)
vmap(lambda x: jvp(lambda y: y * 2, (x,), (Tensor(1.0),))[1])(four)


# --- functions and classes of another file
spheres = other.Spheres(Tensor.ones(2, 3), Tensor.ones(2))
assert vmap(lambda o: other.nearest(spheres, o))(Tensor.ones(5, 3)).shape == (5,)
assert vmap(other.nearest, in_axes=(None, 0))(spheres, Tensor.ones(5, 3)).shape == (5,)
assert vmap(other.Scaled(Tensor.ones(2)))(other.load()).shape == (3, 2)
vmap(lambda x: x * other.Scaled(Tensor.ones(2)).twice)(other.load())
assert other.both(other.load(), other.load(3)).shape == (3,)
assert vmap(other.power(3))(other.load()).shape == (3, 2)
assert other.pairs([other.load(4), Tensor.ones(4, 2)])[0].shape == (4,)
assert vmap(lambda x: other.chosen(x, "sum"))(other.load()).shape == (3,)


# --- a function that is generic in the names of axes, for one example
def unit(x: Axes[N]) -> Axes[N]:
    return x / x.square().sum().sqrt()


ratings = as_axes(Tensor.rand(4, 2), Users, Items)
assert_type(unit(ratings[0]), Axes[Items])
assert_type(vmap(unit)(ratings), Axes[Users, Items])
assert_type(vmap(unit, in_axes=1, out_axes=1)(ratings), Axes[Users, Items])
assert_type(vmap(lambda x: unit(unit(x)))(ratings), Axes[Users, Items])


# --- an entry of a registry that fits, next to one that does not
def stretched(x: Tensor, k: Tensor) -> Tensor:
    return x * k


def total(x: Tensor, k: Tensor) -> Tensor:
    return x.sum() * k


COMBINED = {"stretched": stretched, "total": total}
COUNTS = {"one": 2, "two": 3}


def combined(key: str, x: Tensor, k: Tensor) -> Tensor:
    return vmap(lambda x: COMBINED[key](x, k) + Tensor.ones(COUNTS[key]))(x)


def of_key(key: str) -> Tensor:
    return combined(key, Tensor.ones(4, 2), Tensor.ones(3))


# --- keys that a dict may have, in a function
def keys() -> None:
    params = {"w": Tensor.ones(2)}
    vmap(lambda p: p["b"] if "b" in p else p["w"])(params)
    try:
        vmap(lambda p: p["b"])(params)
    except KeyError:
        params["b"] = Tensor.ones(2)
    vmap(lambda p: p["b"])(params)


keys()


# --- methods of tensors with enough axes
vector, grid, cube = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor.ones(3, 4), Tensor.ones(2, 3, 4)
paddings = [(1, 1)]


def with_padding(x: Tensor, by: tuple[int, int]) -> Tensor:
    return x.pad((by,))


vmap(lambda x: x.split(1)[0] + x.chunk(4)[0])(grid)
vmap(lambda x: x.split([1, 3])[1] + x.topk(3)[0] + x.unfold(0, 2, 1)[:, 0])(grid)
vmap(lambda x: x.split(1, dim=1)[0].flatten() + x.diagonal(0, -1, 0) + x.triu()[:, 0])(cube)
vmap(lambda x: x.flatten() + x.repeat(2) + x.repeat_interleave(2) + x.unflatten(0, (1, 1)))(vector)
vmap(lambda x: x.unflatten(0, (-1, 2)) + x.unflatten(-1, (2, -1)) + x.gather(0, Tensor([0, 1])))(grid)
vmap(lambda x: x.pad((1, 1)) + x.pad(paddings) + with_padding(x, (1, 1)) + x.pad((1, 1)).cat(x).shrink(((0, 6),)))(grid)
vmap(lambda x: x.pad((1, 1, 1, 1)) + x.pad(((1, 1), None)).sum())(cube)
