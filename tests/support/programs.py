"""Generate random programs for the laws: each is a function on tensors and also a function on numpy arrays.

numpy is the oracle.  Discontinuous operations (comparisons, sort, floor, casts to int) are applied only to exact
values, which are made from quarters without rounding, so that both sides jump at the same place.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from tinygrad import Tensor, dtypes
from tinygrad.helpers import disable_gc

from branded import vmap
from tests.support import by_numpy
from tests.support.examples import in_memory


class Value(NamedTuple):
    """The properties of a value that are tracked while a program is generated."""

    shape: tuple[int, ...]
    kind: str  # f: float32, i: int32 in 0..3, b: bool
    exact: bool
    size: float  # a bound of its absolute value


class Step(NamedTuple):
    op: Op
    operands: tuple[int, ...]
    params: tuple[Any, ...]


Pick = Callable[[Any, list[Value]], "tuple[tuple[int, ...], tuple[Any, ...], Value] | None"]


@dataclass(frozen=True)
class Op:
    name: str
    tensor: Callable[..., Tensor]
    array: Callable[..., Any]
    pick: Pick


OPS: list[Op] = []
LARGE = 500.0


def op(name: str, tensor: Callable[..., Tensor], array: Callable[..., Any], pick: Pick) -> None:
    OPS.append(Op(name, tensor, array, pick))


@functools.cache
def among(*values: Any) -> st.SearchStrategy[Any]:
    """Sample one of these values; hypothesis takes longer to create a strategy than to sample from it."""
    return st.sampled_from(values)


def choose(draw: Any, pool: list[Value], ok: Callable[[Value], bool]) -> int | None:
    at = [i for i, v in enumerate(pool) if ok(v)]
    return draw(among(*at[::-1])) if at else None


def one(
    ok: Callable[[Value], bool],
    params: Callable[[Any, Value], tuple[Any, ...]],
    result: Callable[..., Value],
) -> Pick:
    def pick(draw: Any, pool: list[Value]) -> Any:
        if (i := choose(draw, pool, ok)) is None:
            return None
        p = params(draw, pool[i])
        return (i,), p, result(pool[i], *p)

    return pick


def nothing(draw: Any, v: Value) -> tuple[Any, ...]:
    return ()


def same(v: Value, *_: Any) -> Value:
    return v


def floats(v: Value) -> bool:
    return v.kind == "f"


def exact(v: Value) -> bool:
    return v.kind == "f" and v.exact


# ---- elementwise ----

op("neg", lambda x: -x, lambda x: -x, one(floats, nothing, same))
op("abs", lambda x: x.abs(), np.abs, one(floats, nothing, same))
op("relu", lambda x: x.relu(), lambda x: np.maximum(x, np.float32(0)), one(floats, nothing, same))
op("sin", lambda x: x.sin(), np.sin, one(floats, nothing, lambda v: Value(v.shape, "f", False, 1)))
op("tanh", lambda x: x.tanh(), np.tanh, one(floats, nothing, lambda v: Value(v.shape, "f", False, 1)))
op(
    "square",
    lambda x: x.square(),
    np.square,
    one(lambda v: floats(v) and v.size < 20, nothing, lambda v: Value(v.shape, "f", v.exact and v.size < 9, v.size**2)),
)
op("floor", lambda x: x.floor(), np.floor, one(exact, nothing, lambda v: v._replace(size=v.size + 1)))
op("sign", lambda x: x.sign(), np.sign, one(exact, nothing, lambda v: v._replace(size=1)))
op(
    "positive",
    lambda x: x > 0,
    lambda x: x > 0,
    one(exact, nothing, lambda v: Value(v.shape, "b", True, 1)),
)
op(
    "bucket",
    lambda x: x.clip(0, 3).cast(dtypes.int32),
    lambda x: np.clip(x, 0, 3).astype(np.int32),
    one(exact, nothing, lambda v: Value(v.shape, "i", True, 3)),
)
op(
    "float",
    lambda x: x.float(),
    lambda x: x.astype(np.float32),
    one(lambda v: v.kind != "f", nothing, lambda v: Value(v.shape, "f", True, v.size)),
)
op("not", lambda x: x.logical_not(), np.logical_not, one(lambda v: v.kind == "b", nothing, same))


def pair(kinds: str, keep: Callable[[float, float], float]) -> Pick:
    """Pick two operands of one kind whose shapes broadcast."""

    def pick(draw: Any, pool: list[Value]) -> Any:
        i = choose(draw, pool, lambda v: v.kind in kinds)
        if i is None:
            return None
        j = choose(draw, pool, lambda v: v.kind == pool[i].kind and broadcasts(v.shape, pool[i].shape))
        assert j is not None
        a, b = pool[i], pool[j]
        size = keep(a.size, b.size)
        if size > LARGE:
            return None
        shape = np.broadcast_shapes(a.shape, b.shape)
        return (i, j), (), Value(shape, a.kind, a.exact and b.exact and size < 60, size)

    return pick


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) <= 64
    except ValueError:
        return False


op("add", lambda x, y: x + y, lambda x, y: x + y, pair("f", lambda a, b: a + b))
op("sub", lambda x, y: x - y, lambda x, y: x - y, pair("f", lambda a, b: a + b))
op("mul", lambda x, y: x * y, lambda x, y: x * y, pair("f", lambda a, b: a * b))
op("maximum", lambda x, y: x.maximum(y), np.maximum, pair("f", max))
op("and", lambda x, y: x & y, lambda x, y: x & y, pair("bi", max))
op("xor", lambda x, y: x ^ y, lambda x, y: x ^ y, pair("b", max))


def pick_compare(draw: Any, pool: list[Value]) -> Any:
    found = pair("f", max)(draw, [v if exact(v) else v._replace(kind="-") for v in pool])
    return found and (found[0], (), Value(found[2].shape, "b", True, 1))


op("less", lambda x, y: x < y, lambda x, y: x < y, pick_compare)
op("equal", lambda x, y: x == y, lambda x, y: x == y, pick_compare)


def pick_where(draw: Any, pool: list[Value]) -> Any:
    c = choose(draw, pool, lambda v: v.kind == "b")
    found = pair("f", max)(draw, pool) if c is not None else None
    if c is None or found is None or not broadcasts(pool[c].shape, found[2].shape):
        return None
    shape = np.broadcast_shapes(pool[c].shape, found[2].shape)
    return (c, *found[0]), (), found[2]._replace(shape=shape)


op("where", lambda c, x, y: c.where(x, y), np.where, pick_where)


# ---- reductions ----


def some_axis(draw: Any, v: Value) -> tuple[Any, ...]:
    return draw(st.integers(-len(v.shape), len(v.shape) - 1)), draw(st.booleans())


def reduced(shape: tuple[int, ...], axis: int | None, keep: bool) -> tuple[int, ...]:
    if axis is None:
        return ()
    out = list(shape)
    if keep:
        out[axis] = 1
    else:
        del out[axis]
    return tuple(out)


def has_axes(v: Value) -> bool:
    return floats(v) and len(v.shape) > 0


op(
    "sum",
    lambda x, a, k: x.sum(a, keepdim=k),
    lambda x, a, k: x.sum(a, keepdims=k),
    one(
        lambda v: has_axes(v) and v.size < 100,
        some_axis,
        lambda v, a, k: Value(reduced(v.shape, a, k), "f", v.exact and v.size < 12, v.size * max(v.shape)),
    ),
)
op(
    "mean",
    lambda x, a, k: x.mean(a, keepdim=k),
    lambda x, a, k: x.mean(a, keepdims=k),
    one(has_axes, some_axis, lambda v, a, k: Value(reduced(v.shape, a, k), "f", False, v.size)),
)
op(
    "max",
    lambda x, a, k: x.max(a, keepdim=k),
    lambda x, a, k: x.max(a, keepdims=k),
    one(has_axes, some_axis, lambda v, a, k: v._replace(shape=reduced(v.shape, a, k))),
)
op(
    "argmax",
    lambda x, a, k: x.argmax(a, keepdim=k).clip(0, 3),
    lambda x, a, k: np.clip(x.argmax(a, keepdims=k), 0, 3).astype(np.int32),
    one(
        lambda v: has_axes(v) and v.exact,
        some_axis,
        lambda v, a, k: Value(reduced(v.shape, a, k), "i", True, 3),
    ),
)
op(
    "any",
    lambda x: x.any(),
    lambda x: np.asarray(x.any()),
    one(lambda v: v.kind == "b", nothing, lambda v: Value((), "b", True, 1)),
)


def only_axis(draw: Any, v: Value) -> tuple[Any, ...]:
    return (draw(st.integers(-len(v.shape), len(v.shape) - 1)),)


op(
    "cumsum",
    lambda x, a: x.cumsum(a),
    lambda x, a: np.cumsum(x, a, dtype=np.float32),
    one(
        lambda v: has_axes(v) and v.size < 100,
        only_axis,
        lambda v, a: Value(v.shape, "f", v.exact and v.size < 12, v.size * max(v.shape)),
    ),
)
op(
    "sort",
    lambda x, a: x.sort(a)[0],
    lambda x, a: np.sort(x, a),
    one(lambda v: has_axes(v) and v.exact, only_axis, same),
)


def np_softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


op(
    "softmax",
    lambda x, a: x.softmax(a),
    np_softmax,
    one(has_axes, only_axis, lambda v, a: Value(v.shape, "f", False, 1)),
)


# ---- movement and indexing ----

anything = one  # any kind of value may be moved


def with_axes(v: Value) -> bool:
    return len(v.shape) > 0


op(
    "flatten",
    lambda x: x.reshape(-1),
    lambda x: x.reshape(-1),
    one(with_axes, nothing, lambda v: v._replace(shape=(int(np.prod(v.shape)),))),
)


def permutation(draw: Any, v: Value) -> tuple[Any, ...]:
    return (tuple(draw(st.permutations(range(len(v.shape))))),)


op(
    "permute",
    lambda x, p: x.permute(*p),
    lambda x, p: x.transpose(p),
    one(with_axes, permutation, lambda v, p: v._replace(shape=tuple(v.shape[i] for i in p))),
)
op("flip", lambda x, a: x.flip(a), lambda x, a: np.flip(x, a), one(with_axes, only_axis, same))
op("roll", lambda x, a: x.roll(1, a), lambda x, a: np.roll(x, 1, a), one(with_axes, only_axis, same))
op(
    "unsqueeze",
    lambda x, a: x.unsqueeze(a),
    lambda x, a: np.expand_dims(x, a),
    one(
        lambda v: len(v.shape) < 3,
        lambda draw, v: (draw(st.integers(0, len(v.shape))),),
        lambda v, a: v._replace(shape=(*v.shape[:a], 1, *v.shape[a:])),
    ),
)
op(
    "expand",
    lambda x, n: x.unsqueeze(0).expand(n, *x.shape),
    lambda x, n: np.broadcast_to(x, (n, *x.shape)),
    one(
        lambda v: len(v.shape) < 3 and np.prod(v.shape) < 16,
        lambda draw, v: (draw(st.integers(1, 3)),),
        lambda v, n: v._replace(shape=(n, *v.shape)),
    ),
)
op(
    "pad",
    lambda x, a, b: x.pad((a, b)),
    lambda x, a, b: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(a, b)]),
    one(
        lambda v: with_axes(v) and v.kind == "f",
        lambda draw, v: (draw(st.integers(0, 1)), draw(st.integers(0, 2))),
        lambda v, a, b: v._replace(shape=(*v.shape[:-1], v.shape[-1] + a + b)),
    ),
)
op(
    "entry",
    lambda x, i: x[i],
    lambda x, i: x[i],
    one(
        with_axes,
        lambda draw, v: (draw(st.integers(-v.shape[0], v.shape[0] - 1)),),
        lambda v, i: v._replace(shape=v.shape[1:]),
    ),
)


def a_slice(draw: Any, v: Value) -> tuple[Any, ...]:
    return (draw(st.integers(0, v.shape[-1] - 1)), draw(among(1, 2, -1)))


def sliced(x: Any, start: int, step: int) -> Any:
    return x[..., start::step]


op(
    "slice",
    sliced,
    sliced,
    one(
        with_axes,
        a_slice,
        lambda v, s, t: v._replace(shape=(*v.shape[:-1], len(range(v.shape[-1])[s::t]))),
    ),
)


def pick_by_index(draw: Any, pool: list[Value]) -> Any:
    i = choose(draw, pool, lambda v: with_axes(v) and v.shape[0] > 3)
    j = choose(draw, pool, lambda v: v.kind == "i" and len(v.shape) < 3)
    if i is None or j is None or np.prod(pool[j].shape + pool[i].shape[1:]) > 64:
        return None
    return (i, j), (), pool[i]._replace(shape=pool[j].shape + pool[i].shape[1:])


op("take", lambda x, i: x[i], lambda x, i: x[i], pick_by_index)


def pick_set(draw: Any, pool: list[Value]) -> Any:
    i = choose(draw, pool, has_axes)
    if i is None:
        return None
    at = draw(st.integers(0, pool[i].shape[0] - 1))
    j = choose(draw, pool, lambda v: v.kind == "f" and v.shape == pool[i].shape[1:])
    if j is None:
        return None
    a, b = pool[i], pool[j]
    return (i, j), (at,), Value(a.shape, "f", a.exact and b.exact, max(a.size, b.size))


def set_tensor(x: Tensor, v: Tensor, at: int) -> Tensor:
    y = x.clone()
    with disable_gc():  # tinygrad's setitem iterates over all tensors, and fails if one is collected meanwhile
        y[at] = v
    return y


def set_array(x: Any, v: Any, at: int) -> Any:
    y = x.copy()
    y[at] = v
    return y


op("setitem", set_tensor, set_array, pick_set)


# ---- joining and contracting ----


def pick_alike(draw: Any, pool: list[Value]) -> Any:
    i = choose(draw, pool, lambda v: v.kind == "f" and len(v.shape) < 3 and np.prod(v.shape) <= 32)
    if i is None:
        return None
    j = choose(draw, pool, lambda v: v.kind == "f" and v.shape == pool[i].shape)
    assert j is not None
    a, b = pool[i], pool[j]
    d = draw(st.integers(0, len(a.shape)))
    return (i, j), (d,), Value((*a.shape[:d], 2, *a.shape[d:]), "f", a.exact and b.exact, max(a.size, b.size))


op("stack", lambda x, y, d: x.stack(y, dim=d), lambda x, y, d: np.stack([x, y], d), pick_alike)


def pick_cat(draw: Any, pool: list[Value]) -> Any:
    i = choose(draw, pool, lambda v: has_axes(v) and np.prod(v.shape) <= 32)
    if i is None:
        return None
    j = choose(draw, pool, lambda v: floats(v) and v.shape[1:] == pool[i].shape[1:] and len(v.shape) > 0)
    if j is None:
        return None
    a, b = pool[i], pool[j]
    shape = (a.shape[0] + b.shape[0], *a.shape[1:])
    return (i, j), (), Value(shape, "f", a.exact and b.exact, max(a.size, b.size))


op("cat", lambda x, y: x.cat(y), lambda x, y: np.concatenate([x, y]), pick_cat)


def pick_matmul(draw: Any, pool: list[Value]) -> Any:
    i = choose(draw, pool, lambda v: has_axes(v) and v.size < 10)
    if i is None:
        return None
    a = pool[i]
    inner = a.shape[-1]
    j = choose(
        draw, pool, lambda v: has_axes(v) and v.size < 10 and 1 <= len(v.shape) <= 2 and v.shape[-2:][0] == inner
    )
    if j is None:
        return None
    b = pool[j]
    shape = a.shape[:-1] + b.shape[1:]
    size = a.size * b.size * inner
    return None if size > LARGE else ((i, j), (), Value(shape, "f", a.exact and b.exact and size < 60, size))


op("matmul", lambda x, y: x @ y, lambda x, y: x @ y, pick_matmul)


# ---- programs ----


@dataclass(frozen=True, repr=False)
class Program:
    inputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def run(self, xs: Sequence[Any], tensors: bool) -> tuple[Any, ...]:
        env = list(xs)
        for s in self.steps:
            f = s.op.tensor if tensors else s.op.array
            out = f(*(env[i] for i in s.operands), *s.params)
            env.append(out if tensors else np.asarray(out))
        return tuple(env[i] for i in self.outputs)

    def __call__(self, *xs: Tensor) -> tuple[Tensor, ...]:
        return self.run(xs, True)

    def __repr__(self) -> str:
        lines = [f"  v{i} = input {v.kind}{list(v.shape)}" for i, v in enumerate(self.inputs)]
        for i, s in enumerate(self.steps, len(self.inputs)):
            arguments = [*(f"v{j}" for j in s.operands), *map(repr, s.params)]
            lines.append(f"  v{i} = {s.op.name}({', '.join(arguments)})")
        return "\n".join([*lines, f"  return {', '.join(f'v{i}' for i in self.outputs)}"])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"\n{self!r}\n")


shapes = st.lists(st.integers(1, 4), max_size=2).map(tuple)
OPERATIONS = st.sampled_from(OPS)


@st.composite
def programs(draw: Any, max_steps: int = 12) -> Program:
    inputs = [Value(draw(shapes), draw(among(*"fffib")), True, 3.0) for _ in range(draw(st.integers(1, 3)))]
    pool, steps = list(inputs), list[Step]()
    for _ in range(draw(st.integers(max_steps // 2, max_steps))):
        o = draw(OPERATIONS)
        if (found := o.pick(draw, pool)) is not None:
            operands, params, value = found
            steps.append(Step(o, operands, params))
            pool.append(value)
    last = len(pool) - 1
    outputs = (last, draw(st.integers(0, last))) if draw(st.booleans()) else (last,)
    return Program(tuple(inputs), tuple(steps), outputs)


class Level(NamedTuple):
    """One vmap: its size, and the axis of each input and output (None: not mapped)."""

    size: int
    in_axes: tuple[int | None, ...]
    out_axes: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Nest:
    """A program under vmaps, outermost first."""

    program: Program
    levels: tuple[Level, ...]
    seed: int

    def data(self) -> list[Any]:
        """Return each input with an axis for each level that maps it, in the order of the levels."""
        rng = np.random.default_rng(self.seed)
        out = []
        for i, v in enumerate(self.program.inputs):
            lead = tuple(level.size for level in self.levels if level.in_axes[i] is not None)
            shape = lead + v.shape
            quarters = rng.integers(-8, 9, shape)
            out.append(
                (quarters / 4).astype(np.float32)
                if v.kind == "f"
                else np.asarray(rng.integers(0, 4, shape), np.int32)
                if v.kind == "i"
                else quarters > 0
            )
        return out

    def arguments(self, data: list[Any]) -> list[Any]:
        """Move the axes of the data to the positions in `in_axes`."""
        out = []
        for i, x in enumerate(data):
            axes = [level.in_axes[i] for level in self.levels if level.in_axes[i] is not None]
            for k in reversed(range(len(axes))):
                x = np.moveaxis(x, k, k + axes[k] % (x.ndim - k))
            out.append(np.array(x, order="C"))
        return out

    def mapped(self, **options: Any) -> Callable[..., Any]:
        f: Callable[..., Any] = self.program
        for level in reversed(self.levels):
            sizes = {} if any(a is not None for a in level.in_axes) else {"axis_size": level.size}
            f = vmap(f, level.in_axes, level.out_axes, **sizes, **options)
        return f

    def over(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Map another function of the same inputs; its results have the mapped axes in front."""
        for level in reversed(self.levels):
            sizes = {} if any(a is not None for a in level.in_axes) else {"axis_size": level.size}
            f = vmap(f, level.in_axes, **sizes)
        return f

    def one_by_one(self, f: Callable[..., Any], data: list[Any]) -> list[Any]:
        """Return the results of `f` for each example."""
        out = []
        for at in np.ndindex(*[level.size for level in self.levels]):
            index = [
                tuple(k for k, level in zip(at, self.levels, strict=True) if level.in_axes[i] is not None)
                for i in range(len(data))
            ]
            # each has its own memory: equal numbers would be one constant with one gradient
            out.append(f(*(Tensor(np.array(x[j])[None]).squeeze(0) for x, j in zip(data, index, strict=True))))
        return out

    def loop(self, data: list[Any]) -> list[Any]:
        """Return the results of the loops, with their axes moved to `out_axes`."""
        sizes = [level.size for level in self.levels]
        results = []
        for at in itertools.product(*map(range, sizes)):
            xs = []
            for i, x in enumerate(data):
                index = tuple(k for k, level in zip(at, self.levels, strict=True) if level.in_axes[i] is not None)
                xs.append(x[index])
            results.append(self.program.run(xs, False))
        outs = []
        for j in range(len(self.program.outputs)):
            y = np.stack([np.asarray(r[j]) for r in results])
            y = y.reshape(*sizes, *y.shape[1:])
            for k in reversed(range(len(sizes))):
                y = np.moveaxis(y, k, k + self.levels[k].out_axes[j] % (y.ndim - k))
            outs.append(y)
        return outs

    def __repr__(self) -> str:
        return "\n".join([repr(self.program), *(f"  {level}" for level in self.levels), f"  seed {self.seed}"])

    _repr_pretty_ = Program._repr_pretty_


@st.composite
def nests(draw: Any, max_depth: int = 3, max_steps: int = 12) -> Nest:
    program = draw(programs(max_steps))
    out_ranks = [program_rank(program, i) for i in program.outputs]
    depth = draw(st.integers(1, max_depth))
    ranks = [len(v.shape) for v in program.inputs]
    levels: list[Level] = []
    for inside in range(depth):  # innermost first
        in_axes: list[int | None] = []
        for i in range(len(ranks)):
            if draw(st.integers(0, 3)) > 0:
                in_axes.append(draw(st.integers(-ranks[i] - 1, ranks[i])))
                ranks[i] += 1
            else:
                in_axes.append(None)
        out_axes = tuple(draw(st.integers(-r - 1 - inside, r + inside)) for r in out_ranks)
        levels.insert(0, Level(draw(st.integers(1, 3)), tuple(in_axes), out_axes))
    return Nest(program, tuple(levels), draw(st.integers(0, 2**16)))


def program_rank(p: Program, i: int) -> int:
    """Return the rank of a value, from one run on zeros."""
    zeros = [np.zeros(v.shape, {"f": np.float32, "i": np.int32, "b": np.bool_}[v.kind]) for v in p.inputs]
    env_outputs = Program(p.inputs, p.steps, (i,)).run(zeros, False)
    return int(np.ndim(env_outputs[0]))


def agree(nest: Nest, **options: Any) -> None:
    """Check that vmap equals loop and stack in value, shape and dtype."""
    data, compiled = nest.data(), by_numpy.is_compiled
    given = lambda x: Tensor(x) if compiled or not x.ndim else in_memory(x)  # noqa: E731  a scalar becomes a constant
    outs = nest.mapped(**options)(*map(given, nest.arguments(data)))
    one_example = [x[(0,) * (x.ndim - len(v.shape))] for x, v in zip(data, nest.program.inputs, strict=True)]
    types = [y.dtype for y in nest.program(*(given(np.array(x, order="C")) for x in one_example))]
    for got, wanted, dtype in zip(outs, nest.loop(data), types, strict=True):
        assert got.shape == wanted.shape
        assert got.dtype == dtype
        np.testing.assert_allclose(by_numpy.read(got), wanted, rtol=2e-4, atol=2e-4)
