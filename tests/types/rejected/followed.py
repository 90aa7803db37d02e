"""Mistakes that the shapes of the data show, in functions of plain tensors."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import singledispatch
from itertools import chain, combinations, pairwise, product
from typing import NamedTuple

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.nn.state import get_state_dict

from branded import (
    Axes,
    Brand,
    as_axes,
    cond,
    fori_loop,
    grad,
    hessian,
    interp,
    jacrev,
    jvp,
    linalg,
    optim,
    ppermute,
    random,
    scan,
    segment_sum,
    top_k,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from branded.nn.modules import functional_call, stack_module_state
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
vmap(lambda x: fori_loop(0, 3, lambda i, c: c.reshape(1) + 1, x))(four)  # E: fori_loop: carry changes its type
vmap(lambda x: scan(lambda c, _: (c.reshape(1), c), x, length=3))(four)  # E: scan: carry changes its type
scan(lambda c, x: (c + four, c), Tensor(0.0), four)  # E: scan: carry changes its type from step to step

# --- a tangent of another shape
vmap(lambda x: jvp(lambda y: y * 2, (x,), (four,))[1])(four)  # E: jvp: the tangent of a primal has another shape


# --- a forgotten None and a zip in functions of another file
spheres = other.Spheres(Tensor.ones(2, 3), Tensor.ones(2))
rays = Tensor.ones(5, 3)
vmap(other.nearest)(spheres, rays)  # E: vmap: mapped sizes differ: argument 1['centre'] has 2
other.both(other.load(), Tensor.ones(4, 2))  # E: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 4
other.pairs([Tensor.ones(3, 2), Tensor.ones(4, 2)])  # E: vmap: mapped sizes differ: argument 1 has 3 examples


# --- shapes that do not fit in methods and functions of another file
def all_scaled(xs: Tensor) -> Tensor:
    return vmap(other.Scaled(Tensor.ones(5)))(xs)  # E: *: `2` differs from `5` at axis -1


all_scaled(other.load())
vmap(lambda o: other.nearest(spheres, o))(rays.T)  # E: -: `5` differs from `3` at axis -1
assert vmap(other.power(2))(other.load()).shape == (2, 2)  # E: assert: the shape is (3, 2) here


# --- the stacked states of modules, and calls with them
class Net:
    def __init__(self) -> None:
        self.hidden, self.norm, self.out = nn.Linear(4, 8), nn.LayerNorm(8), [nn.Linear(8, 2, bias=False)]

    def __call__(self, x: Tensor) -> Tensor:
        h = self.norm(self.hidden(x))
        return self.out[0](h if h.max() > 0 else -h)  # E: bool: a value that varies over "state"


net = Net()
stacked, inputs = stack_module_state([net, Net(), Net()]), Tensor.ones(5, 4)


def by_state(state: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(net, state, x)


vmap(lambda a, b: a @ b)(stacked["hidden.weight"], inputs)  # E: vmap: mapped sizes differ: argument 1 has 3
vmap(lambda a, b: a * b)(stacked["out.0.weight"], Tensor.ones(2))  # E: vmap: mapped sizes differ: argument 1 has 3
outputs = vmap(by_state, in_axes=(0, None))(stacked, inputs)
vmap(lambda o, y: o - y)(outputs, Tensor.ones(5, 2))  # E: vmap: mapped sizes differ: argument 1 has 3
vmap(lambda w, x: w @ x)(get_state_dict(net)["hidden.weight"], inputs)  # E: vmap: mapped sizes differ: argument 1 has 8
tokens = nn.Embedding(9, 6)(Tensor.arange(3))
vmap(lambda t, y: t - y)(tokens, Tensor.ones(6))  # E: vmap: mapped sizes differ: argument 1 has 3
nn.Linear(4, 8)(outputs)  # E: Linear: the input has 2 features, and the layer wants 4


# --- Jacobians, Hessians and pullbacks
def cubes(x: Tensor) -> Tensor:
    return (x * x * x).cat(x)


wide = vmap(jacrev(cubes))(Tensor.ones(5, 2))
vmap(lambda j, x: j @ x)(wide, Tensor.ones(4, 2))  # E: vmap: mapped sizes differ: argument 1 has 5
wide + Tensor.ones(5, 2, 4)  # E: +: `4` differs from `2` at axis -2
hessian(lambda x: cubes(x).sum())(Tensor.ones(2)) + Tensor.eye(3)  # E: +: `2` differs from `3` at axis -2
vjp(cubes, Tensor.ones(2))[1](Tensor.ones(4))[0] + Tensor.ones(4)  # E: +: `2` differs from `4` at axis -1
value_and_grad(lambda x: (x.sum(), x), has_aux=True)(Tensor.ones(2))[1] + Tensor.ones(3)  # E: +: `2` differs from `3`

# --- updates of an optimizer, its schedule, and the solutions of a solver
rates = Tensor([0.1, 0.2, 0.3])


@dataclass(frozen=True)
class Training:
    params: dict[str, Tensor]
    state: optim.OptState


def trained(rate: Tensor) -> Tensor:
    opt, start = optim.chain(optim.clip(1.0), optim.adam(rate)), {"w": Tensor.ones(2)}

    def step(now: Training, _: None) -> tuple[Training, Tensor]:
        loss, grads = value_and_grad(lambda p: p["w"].square().sum())(now.params)
        updates, state = opt.update(grads, now.state, now.params)
        return Training(optim.apply_updates(now.params, updates), state), loss

    _, losses = scan(step, Training(start, opt.init(start)), length=4)
    return Tensor(losses.tolist())  # E: tolist: a value that varies over "rate"


vmap(trained)(rates)
plan: Tensor = vmap(optim.cosine_decay_schedule(0.1, 5))(Tensor.arange(5))  # N: vmap: the function returns "Any" here
vmap(lambda r, p: r * p)(rates, plan)  # E: vmap: mapped sizes differ: argument 1 has 3
found = vmap(lambda x: optim.minimize(lambda v: v.square().sum(), x).x)(Tensor.ones(3, 2))
found + Tensor.ones(3)  # E: +: `2` differs from `3`

# --- keys and samples
for_one, for_all = random.split(random.key(0))
vmap(random.normal)(random.split(for_all, 3)) + Tensor.ones(4)  # E: +: `3` differs from `4` at axis -1
random.randint(for_one, (3,), 0, 9) + Tensor.ones(4)  # E: +: `3` differs from `4` at axis -1
random.permutation(for_one, 5) + Tensor.ones(4)  # E: +: `5` differs from `4` at axis -1


def drawn(key: Tensor) -> Tensor:
    return random.split(key, 3)


vmap(lambda k, x: random.normal(k) + x)(drawn(for_one), Tensor.ones(4))  # E: vmap: mapped sizes differ: argument 1


# --- members of an enum as keys, itertools, frozen defaults, a dispatched function, and floats that mypy knows
class Way(Enum):
    ROWS = "rows"
    COLUMNS = "columns"


@dataclass(frozen=True)
class Options:
    size: int = 3


@singledispatch
def filled(x: Tensor, options: Options = Options()) -> Tensor:
    return x * Tensor.ones(options.size)  # E: *: `4` differs from `3` at axis -1


TABLES = {Way.ROWS: Tensor.ones(4, 2), Way.COLUMNS: Tensor.ones(2, 4)}
vmap(lambda x: x * four)(TABLES[Way.ROWS])  # E: *: `2` differs from `4` at axis -1
filled(four)
ones = [vmap(lambda a, b: a * b)(a, b) for a, b in pairwise([four, four, rates])]  # E: vmap: mapped sizes differ
twos = [a + b for a, b in combinations([four, rates], 2)]  # E: +: `4` differs from `3`
each = [a + b for a, b in product([four], [rates])]  # E: +: `4` differs from `3`
summed = [x + rates for x in chain([rates], [four])]  # E: +: `4` differs from `3`
settings: dict[str, float] = {}
(four * settings["rate"] * settings.get("decay", 0.5)) + rates  # E: +: `4` differs from `3`


# --- a brand that is opened again in a function
def per_user(x: Tensor, xs: Tensor) -> Tensor:
    return vmap(lambda y: x * y, axis_name=Users)(xs)  # E: axis_name: brand "Users" is already open


vmap(per_user, in_axes=(0, None), axis_name=Users)(four, rates)


# --- parts of tensors, convolutions and losses have other lengths
class Attention:
    def __init__(self, dim: int, heads: int) -> None:
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def __call__(self, x: Tensor) -> Tensor:
        n, _ = x.shape
        q, k, v = (a.reshape(n, self.heads, -1).transpose(0, 1) for a in self.qkv(x).chunk(3, dim=-1))
        return self.out(q.scaled_dot_product_attention(k, v).reshape(-1))  # E: Linear: the input has 48 features


def pooled(x: Tensor) -> Tensor:
    rows, columns, _ = x.shape  # E: shape: there are 2 values for 3 names
    return x.reshape(1, 1, rows, columns).max_pool2d()


def parts(x: Tensor) -> Tensor:
    a, b, c = x.split(4)  # E: split: there are 2 values for 3 names
    return a + b + c


convolved = nn.Conv2d(3, 8, 3, stride=2)(Tensor.rand(4, 3, 16, 16))
vmap(Attention(8, 2))(Tensor.rand(4, 6, 8))
vmap(pooled)(Tensor.rand(4, 6, 8))
vmap(parts)(Tensor.rand(4, 6, 8))
nn.Conv2d(4, 8, 3)(convolved)  # E: conv2d: the input has 8 channels, and the weight wants 4
vmap(lambda x: x.max_pool2d((2, 2)) + four)(convolved)  # E: +: `3` differs from `4`
vmap(lambda x, y: x.cross_entropy(y) * y.topk(2)[0] + four)(convolved, convolved)  # E: +: `2` differs from `4`
vmap(lambda x: x.pad((1, 1)) + x)(four.repeat(3, 1))  # E: +: `6` differs from `4`


# --- operands that do not fit in functions of linear algebra and of numpy
eye = Tensor.eye(4)
linalg.solve(eye, Tensor.ones(3))  # E: solve: the matrix has 4 rows, and the right side has 3
linalg.cholesky(Tensor.ones(4, 3))  # E: cholesky: the matrix is not square
linalg.lstsq(Tensor.ones(5, 2), four)  # E: lstsq: the matrix has 5 rows, and the right side has 4
linalg.multi_dot([eye, Tensor.ones(3, 4)])  # E: multi_dot: the inner axes are `4` and `3`
segment_sum(four, Tensor([0, 1, 1]), 2)  # E: segment_sum: there are 4 rows, and 3 segment ids
interp(four, Tensor.ones(3), four)  # E: interp: there are 3 knots, and 4 values
vmap(lambda row: linalg.solve(eye, row) + rates)(eye)  # E: +: `4` differs from `3`
vmap(lambda row: linalg.eigh(eye * row).eigenvalues + rates)(eye)  # E: +: `4` differs from `3`
vmap(lambda row: row + top_k(row, 2)[0])(eye)  # E: +: `4` differs from `2`


# --- a mask that may be None, one key as a batch of keys, and the state of all models as one state
def masked(x: Tensor, mask: Tensor | None = None) -> Tensor:
    return mask.where(x, 0.0) if mask else x  # E: bool: a tensor with more than one element has no truth value


adam = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1))


def train(w: Tensor, state: optim.OptState) -> tuple[Tensor, optim.OptState]:
    updates, state = adam.update(w * 2, state, w)
    return optim.apply_updates(w, updates), state


models, states = vmap(train)(eye, vmap(adam.init)(eye))
vmap(lambda x: masked(x, Tensor.ones(4) > 0))(eye)
vmap(lambda key: random.normal(key, (3,)))(random.key(0))  # E: normal: the first argument must be a key
random.uniform(random.split(random.key(0), 3), (2,))  # E: uniform: the first argument must be a key
vmap(train)(models, states)
vmap(train)(models, adam.init(models))  # E: in_axes: argument 2[1][0] is a 0-d tensor: there is no axis 0


# --- a carry that gets another shape and a brand in one step
def discounted(rewards: Tensor) -> Tensor:
    def back(g: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        return r + 0.9 * g, g

    return scan(back, Tensor(0.0), rewards)[1]  # E: scan: carry changes its type from step to step


vmap(discounted)(Tensor.ones(4, 5, 2))


# --- values of a class, items after a star, and a convolution of one image
class Pendulum:
    size = 2
    step: float = 0.1

    def moved(self, x: Tensor) -> Tensor:
        return x + self.step * Tensor.ones(self.size)  # E: +: `4` differs from `2`


def layered(*layers: tuple[Tensor, Tensor]) -> Tensor:
    *hidden, (w, b) = layers
    x = four
    for weight, bias in hidden:
        x = x @ weight + bias
    return x @ w + b  # E: @: the inner axes are `3` and `4`


vmap(Pendulum().moved)(eye)
layered((Tensor.ones(4, 3), Tensor.ones(3)), (Tensor.ones(4, 2), Tensor.ones(2)))
nn.Conv2d(3, 8, 3)(Tensor.ones(3, 9, 9))  # E: conv2d: the input has 3 axes, and the weight 4
nn.Linear(36, 2)(convolved.max_pool2d((2, 2)).flatten(1))  # E: Linear: the input has 72 features


# --- the declared axes of an object's fields, and an object that is mapped as a whole
@dataclass(frozen=True)
class Ratings:
    users: Axes[Users, Features]
    items: Axes[Items, Features]


def zipped(data: Ratings) -> Tensor:
    return vmap(lambda u, i: (u * i).sum())(data.users, data.items)  # E: vmap: `Users` is zipped with `Items`


def of_each(many: Ratings) -> Tensor:
    return vmap(lambda one: (one.users * one.users.mean(0)).sum())(many)


# --- coroutines, async generators and context managers
async def loaded(n: int) -> Tensor:
    return Tensor.ones(n)


async def streamed() -> AsyncIterator[Tensor]:
    yield Tensor.ones(3)


@asynccontextmanager
async def opened() -> AsyncIterator[Tensor]:
    yield Tensor.ones(4)


async def served() -> Tensor:
    first, second = await asyncio.gather(loaded(3), loaded(4))
    total = first + second  # E: +: `3` differs from `4`
    stacked = Tensor.stack(*[x async for x in streamed()])
    async with opened() as weights:
        return total.sum() + stacked @ weights  # E: @: the inner axes are `3` and `4`


asyncio.run(served())


# --- decorated functions and properties of other files
other.halved(Tensor.ones(3)) + Tensor.ones(2)  # E: +: `3` differs from `2`
other.Scaled(Tensor.ones(3)).twice + Tensor.ones(2)  # E: +: `3` differs from `2`


# --- an axis that no type shows: one entry of a table has none
by_user = as_axes(Tensor.ones(3), Users)
vmap(lambda a, b: a * b)(by_user, by_user[0])  # E: in_axes: argument 2 is a 0-d tensor


# --- global variables of other files
other.WEIGHTS + Tensor.ones(2)  # E: +: `3` differs from `2`
Tensor.ones(other.SIZE) + Tensor.ones(3)  # E: +: `4` differs from `3`
other.weighted(Tensor.ones(2))  # E: *: `2` differs from `3`
other.all_weighted(Tensor.ones(5, 2))  # E: *: `2` differs from `3`
other.twice_weighted(Tensor.ones(2, 3))  # E: vmap: mapped sizes differ: argument 1 has 1 examples, argument 2 has 2
other.either + Tensor.ones(2)
other.replaced + Tensor.ones(2)


# --- methods of tensors with too few axes, or with entries that do not fit
vector, grid = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor.ones(3, 4)
vmap(lambda x: x.split(1)[0])(vector)  # E: split: it takes 1 axis or more, and this tensor has no axes
vmap(lambda x: x.chunk(2, 1)[0])(grid)  # E: chunk: axis 1 of a tensor with 1 axis
vmap(lambda x: x.split([1, 2])[0])(grid)  # E: split: the sizes add up to 3, and axis 0 has 4 entries
vmap(lambda x: x.topk(5)[0])(grid)  # E: topk: there are no 5 largest of 4 entries
vmap(lambda x: x.sort()[0])(vector)  # E: sort: it takes 1 axis or more, and this tensor has no axes
vmap(lambda x: x.diagonal())(grid)  # E: diagonal: axis 1 of a tensor with 1 axis
vmap(lambda x: x.triu())(grid)  # E: triu: it takes 2 axes or more, and this tensor has 1 axis
vmap(lambda x: x.unflatten(0, (3, 2)))(grid)  # E: unflatten: axis 0 has 4 entries, and the sizes are for 6
vmap(lambda x: x.pad((1, 1)))(vector)  # E: pad: there is padding for 1 axis, and the tensor has no axes
vmap(lambda x: x.pad(((1, 1), None)))(grid)  # E: pad: there is padding for 2 axes, and the tensor has 1 axis
vmap(lambda x: x.repeat_interleave(2, 1))(grid)  # E: repeat_interleave: axis 1 of a tensor with 1 axis
vmap(lambda x: Tensor.cat(x, x))(vector)  # E: cat: it takes 1 axis or more, and this tensor has no axes
vmap(lambda x: x.gather(0, Tensor([0, 1])))(vector)  # E: gather: the tensor has no axes, and the index 1 axis
vmap(lambda x: x.avg_pool2d())(grid)  # E: avg_pool2d: it takes 2 axes or more, and this tensor has 1 axis

# --- a bool in a tree of in_axes
vmap(lambda p: p[0] * p[1], in_axes=([0, True],))([vector, vector])  # E: in_axes: True is a bool, not an axis
both = {"a": vector, "b": vector}
vmap(lambda p: p["a"] * p["b"], in_axes=({"a": True, "b": 0},))(both)  # E: in_axes: True is a bool, not an axis


# --- a read in a module that is called with another state, in a lambda
class Scaled:
    def __init__(self) -> None:
        self.layer = nn.Linear(4, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.layer(x) / x.max().item()  # E: item: a value that varies over "x" has no single value to read


class Centered:
    def __init__(self) -> None:
        self.layer = nn.Linear(4, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return x - x.mean() if x.mean() > 0 else x  # E: bool: a value that varies over "s" has no single truth value


class Models:
    def __init__(self) -> None:
        self.scaled, self.centered = Scaled(), Centered()

    def outputs(self, state: dict[str, Tensor], xs: Tensor) -> Tensor:
        return vmap(lambda x: functional_call(self.scaled, state, x))(xs)

    def by_state(self, states: dict[str, Tensor], x: Tensor) -> Tensor:
        return vmap(lambda s: functional_call(self.centered, s, x))(states)


# --- axes in a variable, of a result that varies
class Part(NamedTuple):
    value: Tensor
    weight: Tensor


def weighted_parts(p: Part) -> Part:
    axes = Part(0, None)
    return vmap(lambda p: Part(p.value, p.weight * p.value), in_axes=(axes,), out_axes=axes)(p)  # E: out_axes: None


weighted_parts(Part(Tensor.ones(3), Tensor(1.0)))


# --- rows of segments that have no axis in one example
def by_group(scores: Tensor, groups: Tensor) -> Tensor:
    return vmap(lambda s, g: segment_sum(s, g, 2))(scores, groups)  # E: segment_sum: segment_ids does not have one int


by_group(Tensor.ones(4, 4), Tensor([0, 1, 0, 1]))


# --- a function by which values are sorted, in a registry
FEATURES: dict[str, Callable[[Tensor], Tensor]] = {}


def registered(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    FEATURES[f.__name__] = f
    return f


@registered
def lowest(x: Tensor) -> Tensor:
    return sorted(x, key=lambda v: v.item())[0]  # E: item: a value that varies over "x" has no single value to read


vmap(lambda x: {n: f(x) for n, f in FEATURES.items()})(Tensor.ones(2, 3))
