"""Mistakes that the shapes of the data show, in functions of plain tensors."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from tinygrad import Tensor

from branded import Brand, as_axes, cond, fori_loop, grad, jvp, ppermute, random, scan, vmap, while_loop
from tests.types.other import shapes as other


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


# --- a forgotten None
def score(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum().sigmoid()


def predict(w: Tensor, xs: Tensor) -> Tensor:
    return vmap(score)(w, xs)  # E: vmap: mapped sizes differ: argument 1 has 2 examples, argument 2 has 3


predict(Tensor([0.5, -0.2]), Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


# --- one vmap where every pair is meant
def pairs(xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda x, y: (x * y).sum())(xs, ys)  # E: vmap: mapped sizes differ: argument 1 has 4 examples, argument


N, M, D = 4, 5, 3
pairs(Tensor.rand(N, D), Tensor(np.random.rand(M, D)))


# --- names at the boundary
def table(xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda x, y: (x * y).sum())(xs, ys)  # E: vmap: `Users` is zipped with `Items`


table(as_axes(Tensor.rand(3, 2), Users, Features), as_axes(Tensor.rand(3, 2), Items, Features))

# --- a transposed table gets the names of the other way round
X = as_axes(Tensor.rand(3, 2), Users, Features)
as_axes(X.T, Users, Features)  # E: as_axes: axis 0 is `Features`, but is named `Users`


# --- another axis than the function is for
class Layer(NamedTuple):
    weight: Tensor
    bias: Tensor


def layer(p: Layer, x: Tensor) -> Tensor:
    return p.weight @ x + p.bias  # E: @: the inner axes are `3` and `5`


vmap(lambda x: layer(Layer(Tensor.ones(4, 3), Tensor.ones(4)), x), in_axes=1)(Tensor.ones(5, 3))


# --- a shape that is asserted
def columns(xs: Tensor) -> Tensor:
    return vmap(lambda x: x.relu(), out_axes=1)(xs)


result = columns(Tensor.ones(4, 3))
assert result.ndim == 2 and result.shape == (4, 3)  # E: assert: the shape is (3, 4) here


# --- a result with names, without an annotation
def by_item(xs: Tensor, ys: Tensor) -> Tensor:
    return xs @ ys.T


users, items = as_axes(Tensor.ones(3, 2), Users, Features), as_axes(Tensor.ones(4, 2), Items, Features)
by_item(users, items) + Tensor.ones(4, 3)  # E: +: `Users` differs from `4` at axis -2


# --- a loss for each example is no loss
def squares(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).square()


rows = Tensor.ones(3)
grad(lambda w: vmap(lambda x: squares(w, x))(rows))(rows)  # E: grad: the function must return one float


# --- one number is mapped
total = Tensor.ones(3).sum()
vmap(lambda x, t: x / t)(Tensor.ones(3), total)  # E: in_axes: argument 2 is a 0-d tensor


# --- wrong shapes after fields, floats, sums and random keys
@dataclass(frozen=True)
class Settings:
    rate: float
    scale: Tensor = field(default_factory=lambda: Tensor([1.0, 2.0]))


def scaled(s: Settings, x: Tensor) -> Tensor:
    return math.exp(-s.rate) * x * s.scale  # E: *: `3` differs from `2` at axis -1


vmap(lambda x: scaled(Settings(0.5), x))(Tensor.ones(4, 3))
keys = random.split(random.key(0), 3)
vmap(lambda k, x: random.normal(k) * x)(keys, Tensor.ones(4))  # E: vmap: mapped sizes differ: argument 1 has 3 examples
sums = sum((Tensor.ones(3) * i for i in range(2)), Tensor.zeros(3))
vmap(lambda x, y: x + y)(sums, Tensor.ones(5)[:4])  # E: vmap: mapped sizes differ: argument 1 has 3 examples
by_name = {name: Tensor.ones(n) for name, n in (("a", 2), ("b", 3))}
vmap(lambda x, y: x + y)(by_name["a"], by_name["b"])  # E: vmap: mapped sizes differ: argument 1 has 2 examples


# --- a shape that changes in a loop
w = Tensor.ones(2)
for _ in range(2):
    w = vmap(lambda row, v: row * v, in_axes=(0, None))(Tensor.ones(3, 2), w)
    vmap(lambda a, b: a + b)(w, Tensor.ones(3))
vmap(lambda a, b: a + b)(w, Tensor.ones(2))  # E: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2


# --- a read in a function that gets a function of a batched value
def absolute(f: Callable[[Tensor], Tensor]) -> Tensor:
    y = f(Tensor(1.0))
    return y if y > 0 else -y  # E: bool: a value that varies over "a"


vmap(lambda a: absolute(lambda x: x * x - a))(Tensor.ones(3))


# --- pairs of a ppermute that are no examples, or not one for each example
COUNT = 4
NEXT = [(i, i + 1) for i in range(COUNT)]


def to_next(x: Tensor) -> Tensor:
    return ppermute(x, Users, NEXT)  # E: ppermute: (3, 4) is not a pair of examples


def to_both(x: Tensor) -> Tensor:
    return ppermute(x, "i", [(0, 1), (0, 2)])  # E: ppermute: perm has a duplicate source or destination


four = Tensor.ones(COUNT)
vmap(to_next, axis_name=Users)(four)
vmap(to_both, axis_name="i")(four)

# --- a wrong axis_size
vmap(lambda x: x, axis_size=5)(four)  # E: vmap: mapped sizes differ: axis_size is 5, argument 1 has 4

# --- conditions that are not scalars
vmap(lambda x: while_loop(lambda c: c < 3, lambda c: c + 1, x.reshape(1)))(four)  # E: while_loop: the condition has
cond(four > 1, lambda: four, lambda: four)  # E: cond: the predicate has the shape (4,), and is not a scalar

# --- carries that change their shape
vmap(lambda x: fori_loop(0, 3, lambda i, c: c.reshape(1) + 1, x))(four)  # E: fori_loop: carry changes its shape
vmap(lambda x: scan(lambda c, _: (c.reshape(1), c), x, length=3))(four)  # E: scan: carry changes its shape
scan(lambda c, x: (c + four, c), Tensor(0.0), four)  # E: scan: carry changes its shape from step to step

# --- a tangent of another shape
vmap(lambda x: jvp(lambda y: y * 2, (x,), (four,))[1])(four)  # E: jvp: the tangent of a primal has another shape


# --- a forgotten None and a zip in functions of another file
spheres = other.Spheres(Tensor.ones(2, 3), Tensor.ones(2))
rays = Tensor.ones(5, 3)
vmap(other.nearest)(spheres, rays)  # E: vmap: mapped sizes differ: argument 1['centre'] has 2  N: Spheres is
other.both(other.load(), Tensor.ones(4, 2))  # E: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 4
other.pairs([Tensor.ones(3, 2), Tensor.ones(4, 2)])  # E: vmap: mapped sizes differ: argument 1 has 3 examples


# --- shapes that do not fit in methods and functions of another file
def all_scaled(xs: Tensor) -> Tensor:
    return vmap(other.Scaled(Tensor.ones(5)))(xs)  # E: *: `2` differs from `5` at axis -1


all_scaled(other.load())
vmap(lambda o: other.nearest(spheres, o))(rays.T)  # E: -: `5` differs from `3` at axis -1
assert vmap(other.power(2))(other.load()).shape == (2, 2)  # E: assert: the shape is (3, 2) here
