"""`vmap`: forms, axes, pytrees, sizes and options, compared with numpy or a loop over the examples."""

from __future__ import annotations

import collections
import functools
import inspect
import threading
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes, function, nn
from tinygrad.helpers import GlobalCounters

from branded import index_update, register_pytree_node, vmap
from branded.errors import CallError, RandomnessError
from branded.graph.scope import open_brands
from tests.support.by_numpy import read

pytestmark = pytest.mark.by_numpy

rng = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def tensor(*shape: int) -> Tensor:
    return Tensor(array(*shape)).realize()


def close(got: Any, wanted: Any, tol: float = 1e-5) -> None:
    np.testing.assert_allclose(got.numpy() if isinstance(got, Tensor) else got, wanted, rtol=tol, atol=tol)


# ---- the two examples of "vmap in Haskell" ----


def test_zip() -> None:
    assert vmap(lambda a, b: a + b)(Tensor([1, 2, 3]), Tensor([4, 6, 8])).tolist() == [5, 8, 11]


def test_outer() -> None:
    a0, b0 = Tensor([1, 2, 3]), Tensor([4, 6, 8])
    assert vmap(lambda a: vmap(lambda b: a + b)(b0))(a0).tolist() == [[5, 7, 9], [6, 8, 10], [7, 9, 11]]


# ---- forms ----


def test_decorator_method_and_callable_forms() -> None:
    x = tensor(3, 4)
    wanted = x.numpy().sum(1)

    @vmap
    def plain(row: Tensor) -> Tensor:
        """The sum."""
        return row.sum()

    @vmap(in_axes=1, out_axes=0)
    def columns(column: Tensor) -> Tensor:
        return column.sum()

    class Model:
        scale = 2.0

        @vmap(in_axes=(None, 0))
        def method(self, row: Tensor) -> Tensor:
            return row.sum() * self.scale

        def __call__(self, row: Tensor) -> Tensor:
            return row.sum() * self.scale

    close(plain(x), wanted)
    close(columns(x), x.numpy().sum(0))
    close(Model().method(x), wanted * 2)
    close(vmap(Model())(x), wanted * 2)
    close(vmap(functools.partial(Tensor.sum, axis=0))(x), wanted)
    close(vmap(Tensor.sum)(x), wanted)
    assert plain.__name__ == "plain" and plain.__doc__ == "The sum."
    assert list(inspect.signature(plain).parameters) == ["row"]


def test_arrays_become_tensors() -> None:
    x = array(3, 4)
    close(vmap(lambda row: row.sum())(x), x.sum(1))
    assert vmap(lambda row, n: row * n, in_axes=(0, None))(x, 2).shape == (3, 4)


# ---- axes ----


@pytest.mark.parametrize("i", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("o", [0, 1, 2, -1, -2, -3])
def test_axes(i: int, o: int) -> None:
    x = tensor(2, 3, 4)
    out = vmap(lambda a: a.transpose() * 2, i, o)(x)
    n = x.shape[i]
    parts = np.moveaxis(x.numpy(), i, 0)
    close(out, np.stack([parts[k].T * 2 for k in range(n)], axis=o))


def test_out_axes_of_unbatched_results() -> None:
    x, w = tensor(3, 3), tensor(3, 5)
    for axis in (0, 1, 2, -1):
        out = vmap(lambda a: w, out_axes=axis)(x)
        close(out, np.stack([w.numpy()] * 3, axis=axis))
    same, number, text = vmap(lambda a: (w, 7, "done"), out_axes=None)(x)
    assert same is w and number == 7 and text == "done"


def test_numbers_and_none_as_results() -> None:
    x = tensor(3, 2)
    half, nothing, flag = vmap(lambda a: (0.5, None, True))(x)
    assert half.tolist() == [0.5] * 3 and nothing is None and flag.tolist() == [True] * 3
    assert half.dtype == Tensor.stack(*[Tensor(0.5)] * 3).dtype
    assert vmap(lambda a: np.arange(2))(x).tolist() == [[0, 1]] * 3


def test_axes_as_list_or_tuple() -> None:
    x, y = tensor(2, 3), tensor(3, 2)
    for axes in ((0, 1), [0, 1]):
        close(vmap(lambda a, b: a + b, in_axes=axes)(x, y), x.numpy() + y.numpy().T)
    close(vmap(lambda a, b: (a, b), in_axes=(0, 1), out_axes=[1, 0])(x, y)[0], x.numpy().T)
    close(vmap(lambda p: p[0] + p[1], in_axes=([0, 1],))((x, y)), x.numpy() + y.numpy().T)
    close(vmap(lambda p: p[0] + p[1], in_axes=((0, np.int64(1)),))((x, y)), x.numpy() + y.numpy().T)


def test_dict_axes_match_by_key() -> None:
    w, b = tensor(2, 2), tensor(2, 2)
    out = vmap(lambda p: p["w"] - p["b"], in_axes=({"b": 1, "w": 0},))({"w": w, "b": b})
    close(out, w.numpy() - b.numpy().T)
    out = vmap(lambda x: {"b": x, "w": x * 2}, out_axes={"w": 1, "b": 0})(w)
    close(out["w"], w.numpy().T * 2)
    assert list(out) == ["b", "w"]


def test_keywords_are_mapped_over_axis_0() -> None:
    x, y = tensor(3, 2), tensor(3, 2)
    close(vmap(lambda a, *, b: a * b)(x, b=y), x.numpy() * y.numpy())
    close(vmap(lambda a, b: a * b, in_axes=(1,))(Tensor(x.numpy().T.copy()), b=y), x.numpy() * y.numpy())
    close(vmap(lambda *, p: p["x"])(p={"x": x}), x.numpy())


def test_other_arguments_pass_through() -> None:
    x = tensor(3, 2)
    seen: list[Any] = []
    out = vmap(lambda a, *rest: seen.extend(rest) or a, in_axes=(0, None, None, None, None))(x, "s", len, 3, None)
    close(out, x.numpy())
    assert seen == ["s", len, 3, None]


def test_axis_size_without_mapped_arguments() -> None:
    x = tensor(2)
    close(vmap(lambda a: a * 2, in_axes=None, axis_size=3)(x), np.stack([x.numpy() * 2] * 3))
    assert vmap(lambda: Tensor.ones(2), axis_size=0)().shape == (0, 2)
    close(vmap(lambda a: a * 2, axis_size=2)(x), x.numpy() * 2)


# ---- trees ----


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Params:
    w: Any
    b: Any = None
    cache: list[Any] = field(default_factory=list, init=False, compare=False)


class Line:
    def __init__(self, a: Any, b: Any, unit: str) -> None:
        self.a, self.b, self.unit = a, b, unit


register_pytree_node(Line, lambda x: ((x.a, x.b), x.unit), lambda unit, ab: Line(*ab, unit))


def test_pytrees() -> None:
    x, y = tensor(3, 2), tensor(3, 2)
    nested = {"p": Pair([x], (y, None)), "q": collections.OrderedDict(a=x), "r": collections.deque([y])}
    out = vmap(lambda t: t)(nested)
    assert isinstance(out["p"], Pair) and out["p"].right[1] is None
    assert isinstance(out["q"], collections.OrderedDict) and isinstance(out["r"], collections.deque)
    close(out["p"].left[0], x.numpy())
    close(out["r"][0], y.numpy())


def test_defaultdict_keeps_its_factory() -> None:
    out = vmap(lambda d: d)(collections.defaultdict(list, x=tensor(2, 2)))
    assert out["new"] == []


def test_named_tuples_and_dataclasses() -> None:
    x, y = tensor(3, 2), tensor(2)
    close(vmap(lambda p: p.left + p.right, in_axes=(Pair(0, None),))(Pair(x, y)), x.numpy() + y.numpy())
    close(vmap(lambda p: p.left + p.right, in_axes=((0, None),))(Pair(x, y)), x.numpy() + y.numpy())
    out = vmap(lambda p: p, in_axes=(Params(0, None),), out_axes=Params(1, None))(Params(x, y))
    assert isinstance(out, Params) and out.cache == []
    close(out.w, x.numpy().T)
    assert out.b is y


def test_registered_classes() -> None:
    x, y = tensor(3), tensor(3)
    out = vmap(lambda line: Line(line.a + line.b, line.b, line.unit))(Line(x, y, "m"))
    assert out.unit == "m"
    close(out.a, x.numpy() + y.numpy())
    close(vmap(lambda line: line.a + line.b, in_axes=(Line(0, None, "m"),))(Line(x, y[0], "m")), (x + y[0]).numpy())
    with pytest.raises(ValueError, match="Line is registered already"):
        register_pytree_node(Line, lambda x: ((), None), lambda _, ab: Line(0, 0, ""))


# ---- nesting and closures ----


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_nesting_depths(depth: int) -> None:
    shape = (2, 3, 1, 2, 2, 2)[:depth]
    x, w = tensor(*shape, 4), tensor(4, 3)
    f = lambda a: (a @ w).softmax()  # noqa: E731
    g = f
    for _ in range(depth):
        g = vmap(g)
    close(g(x), (x @ w).softmax().numpy())


def test_different_axes_at_each_level() -> None:
    x = tensor(2, 3, 4)
    f = vmap(vmap(lambda a: a * Tensor.arange(3), in_axes=1, out_axes=-1), in_axes=0, out_axes=1)
    wanted = np.stack([np.stack([x.numpy()[i, :, j] * np.arange(3) for j in range(4)], -1) for i in range(2)], 1)
    close(f(x), wanted)


def test_closures_over_outer_brands() -> None:
    x, y, z = tensor(2, 3), tensor(4, 3), tensor(5, 3)
    f = vmap(lambda a: vmap(lambda b: vmap(lambda c: (a * b * c).sum() + a.sum())(z))(y))
    wanted = np.einsum("ik,jk,lk->ijl", *(t.numpy() for t in (x, y, z))) + x.numpy().sum(1)[:, None, None]
    close(f(x), wanted, 1e-4)


def test_same_data_under_two_brands() -> None:
    x = tensor(3, 2)
    close(vmap(lambda a: vmap(lambda b: (a - b).square().sum())(x))(x), ((x.numpy()[:, None] - x.numpy()) ** 2).sum(-1))
    close(vmap(lambda a, b: a + b)(x, x), 2 * x.numpy())
    close(vmap(lambda a: vmap(lambda b: a[0] * b)(a))(x), x.numpy()[:, :1] * x.numpy())


def test_inner_vmap_of_plain_data_can_be_read() -> None:
    x, y = tensor(3, 2), tensor(4, 2)

    def body(a: Tensor) -> Tensor:
        total = float(vmap(lambda b: b.sum())(y).sum().item())
        return a * total

    close(vmap(body)(x), x.numpy() * y.numpy().sum(), 1e-4)


def test_unbatched_operands_in_every_position() -> None:
    x, w = tensor(3, 4), tensor(4)
    m, i = tensor(4, 4), Tensor([[0, 1], [2, 3], [1, 1]])
    close(vmap(lambda a: w - a)(x), w.numpy() - x.numpy())
    close(vmap(lambda a: m.dot(a))(x), x.numpy() @ m.numpy().T)
    close(vmap(lambda a: Tensor.stack(w, a))(x), np.stack([np.stack([w.numpy(), r]) for r in x.numpy()]))
    close(vmap(lambda a: (w > 0).where(a, w))(x), np.where(w.numpy() > 0, x.numpy(), w.numpy()))
    close(vmap(lambda k: w[k])(i), w.numpy()[i.numpy()])


# ---- sizes, chunks, memory ----


def test_large_batch_is_traced_once() -> None:
    calls: list[int] = []
    x = tensor(10_000, 3)
    close(vmap(lambda a: calls.append(1) or a.sum())(x), x.numpy().sum(1), 1e-4)
    assert calls == [1]


@pytest.mark.parametrize("n", [0, 1])
def test_batches_of_size_0_and_1(n: int) -> None:
    x = Tensor(np.ones((n, 4), np.float32))
    w = tensor(4, 4)
    assert vmap(lambda a: (a @ w).sort()[0][[0, 1]].cumsum())(x).numpy().shape == (n, 2)
    assert vmap(lambda a: a.sum())(x).numpy().shape == (n,)
    assert vmap(lambda s: s * 2)(x[:, 0].contiguous()).numpy().shape == (n,)
    assert vmap(lambda a: vmap(lambda b: a.sum() + b)(w))(x).numpy().shape == (n, 4, 4)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 20])
def test_chunks_match_whole_batch(chunk: int) -> None:
    x, w = tensor(4, 7), tensor(4)
    f = lambda a, b: {"y": (a * b).softmax(), "w": b, "n": 2}  # noqa: E731
    whole = vmap(f, in_axes=(1, None), out_axes={"y": -1, "w": None, "n": 0})(x, w)
    parts = vmap(f, in_axes=(1, None), out_axes={"y": -1, "w": None, "n": 0}, chunk_size=chunk)(x, w)
    close(parts["y"], whole["y"].numpy())
    close(parts["w"], w.numpy())
    assert parts["n"].tolist() == [2] * 7


def test_gradients_of_chunks_and_nested_chunks() -> None:
    x, w = tensor(5, 3), tensor(3)
    loss = lambda c: vmap(lambda a: (a * w).sin().sum(), chunk_size=c)(x).sum().gradient(w)[0].numpy()  # noqa: E731
    close(loss(2), loss(None))
    table = lambda c: vmap(lambda a: vmap(lambda b: (a * b).sum(), chunk_size=c)(x), chunk_size=c)(x).numpy()  # noqa: E731
    close(table(2), table(None))


def test_chunks_with_precompiled_function() -> None:
    x = tensor(5, 3)
    compiled = function(lambda a: a.sin() * 2, precompile=True)
    close(vmap(lambda a: compiled(a) + 1, chunk_size=2)(x), np.sin(x.numpy()) * 2 + 1)
    around = function(lambda t: vmap(lambda a: a.sin() * 2, chunk_size=2)(t), precompile=True)
    close(around(x), np.sin(x.numpy()) * 2)


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int32", "uint64", "half", "bfloat16", "float32", "float64"]
)
def test_chunks_of_every_dtype(name: str) -> None:
    with Context(DEV="PYTHON", NOOPT=1):
        xs = Tensor((np.arange(24).reshape(3, 2, 4) % 5).astype(np.float32)).cast(getattr(dtypes, name)).realize()
        f = lambda x: (x + x, x.flip(0), x.sum(), x == x)  # noqa: E731
        pieces = vmap(f, chunk_size=2)(xs)
        Tensor.realize(*pieces)
        for chunked, whole in zip(pieces, vmap(f)(xs), strict=True):
            assert chunked.dtype == whole.dtype and chunked.tolist() == read(whole).tolist()
        twice = lambda c: vmap(lambda a: vmap(lambda b: a * b, chunk_size=c)(xs), chunk_size=c)(xs)  # noqa: E731
        assert twice(2).tolist() == read(twice(None)).tolist()
        if dtypes.is_float(xs.dtype):
            assert vmap(lambda x: x * x, chunk_size=2)(xs).sum().gradient(xs)[0].tolist() == read(2 * xs).tolist()


def test_chunks_with_empty_axis() -> None:
    nothing, w, rows = Tensor.empty(5, 0).realize(), tensor(3), tensor(5, 3)
    assert vmap(lambda x: x.sum(), chunk_size=2)(nothing).tolist() == [0.0] * 5
    close(vmap(lambda x: x.sum() + w, chunk_size=2)(nothing), np.tile(w.numpy(), (5, 1)))
    close(vmap(lambda y: y.cat(nothing[0]), chunk_size=2)(rows), rows.numpy())
    assert vmap(lambda x: x * 2, chunk_size=2)(nothing).shape == (5, 0)


def test_chunks_reduce_peak_memory() -> None:
    x = tensor(64, 128)

    def peak(chunk: int | None) -> int:
        out = vmap(lambda a: (a.reshape(128, 1) * a).contiguous().sin().contiguous().sum(), chunk_size=chunk)(x)
        GlobalCounters.reset()
        linear = out.schedule_linear()
        sizes = {b: b.nbytes() for si in linear.src for s in si.src[1:] for b in s.toposort() if b.op.name == "BUFFER"}
        return sum(sizes.values())

    assert peak(4) < peak(None) / 4


# ---- tinygrad around and inside ----


def test_vmap_inside_tinyjit() -> None:
    f = TinyJit(lambda t: vmap(lambda a: (a * 2).sum())(t).realize())
    for _ in range(4):
        x = tensor(3, 4)
        close(f(x), x.numpy().sum(1) * 2, 1e-4)


def test_vmap_with_function() -> None:
    x, w = tensor(3, 4), tensor(4)

    @function
    def scaled(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return (a * b).sin(), b.sum()

    @function(precompile=True)
    def compiled(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).sin()

    def closes_over(a: Tensor) -> Tensor:
        @function
        def g(b: Tensor) -> Tensor:
            return b * a

        return g(a + 1)

    def maps_inside(a: Tensor) -> Tensor:
        @function
        def g(a: Tensor, w: Tensor) -> Tensor:
            return vmap(lambda s: s * w.sum())(a)

        return g(a, w)

    sin = np.sin(x.numpy() * w.numpy())
    close(vmap(lambda a: scaled(a, w)[0])(x), sin)
    close(vmap(lambda a: scaled(scaled(a, w)[0], w)[0])(x), np.sin(sin * w.numpy()))
    close(vmap(lambda a: scaled(w, a)[1])(x), x.numpy().sum(1))
    close(vmap(lambda a: compiled(a, w))(x), sin)
    close(vmap(closes_over)(x), (x.numpy() + 1) * x.numpy())
    close(vmap(maps_inside)(x), x.numpy() * w.numpy().sum())
    close(vmap(lambda a: maps_inside(a).sum().gradient(a)[0])(x), np.full((3, 4), w.numpy().sum()))


def test_function_with_grad_fxn() -> None:
    x, w = tensor(3, 4), tensor(4)

    def grad(d: Any, call: Any) -> tuple[Any, ...]:
        a, b = call.src[1:]
        return d * b * 10, d * a * 10

    @function(grad_fxn=grad)
    def times(a: Tensor, b: Tensor) -> Tensor:
        return a * b

    close(vmap(lambda a: times(a, w))(x), x.numpy() * w.numpy())
    close(vmap(lambda a: times(a, w).sum().gradient(a)[0])(x), np.stack([w.numpy() * 10] * 3))
    outside = vmap(lambda a: times(a, w))(x).sum().gradient(x, w)
    close(outside[0], np.stack([w.numpy() * 10] * 3))
    close(outside[1], x.numpy().sum(0) * 10, 1e-4)


def test_gradients() -> None:
    x, w = tensor(3, 4), tensor(4)
    per_example = vmap(lambda a: (a * w).sin().sum().gradient(w)[0])(x)
    close(per_example, x.numpy() * np.cos(x.numpy() * w.numpy()))
    close(vmap(lambda a: (a * w).sin().sum())(x).sum().gradient(w)[0], per_example.numpy().sum(0), 1e-4)
    close(vmap(lambda a: a.square().sum().gradient(a)[0])(x), 2 * x.numpy())
    wrt_all = vmap(lambda a: a.square().sum().gradient(x)[0])(x).numpy()
    close(wrt_all, np.einsum("ij,ik->ijk", np.eye(3), 2 * x.numpy()))
    inner = vmap(lambda a: vmap(lambda s: (s * a).sum())(a).sum().gradient(a)[0])(x)
    close(inner, np.repeat(2 * x.numpy().sum(1, keepdims=True), 4, 1), 1e-4)


def test_gradient_by_inner_result() -> None:
    x, w = tensor(3, 4), tensor(5)

    def body(a: Tensor) -> Tensor:
        table = vmap(lambda s: a * s)(w)
        return table.square().sum().gradient(table)[0]

    close(vmap(body)(x), 2 * x.numpy()[:, None, :] * w.numpy()[None, :, None])


def test_writes_to_per_example_values() -> None:
    x = tensor(3, 4)
    before = x.numpy().copy()

    def body(a: Tensor) -> Tensor:
        a += 1
        a[0] = 7.0
        mine = Tensor.zeros(4, dtype=dtypes.int32).contiguous().realize()
        mine[1:3] = a[:2].int()
        mine[0] = 5
        return a + mine

    wanted = before + 1
    wanted[:, 0] = 7
    mine = np.zeros((3, 4), np.int32)
    mine[:, 1:3], mine[:, 0] = wanted[:, :2].astype(np.int32), 5
    close(vmap(body)(x), wanted + mine)
    close(vmap(vmap(lambda a: body(a)))(x.reshape(1, 3, 4)), (wanted + mine)[None])
    close(x, before)


def test_nn_layers() -> None:
    layers = [nn.Linear(4, 4), nn.LayerNorm(4), Tensor.relu, nn.RMSNorm(4)]
    x = tensor(3, 4)
    close(vmap(lambda a: a.sequential(layers))(x), x.sequential(layers).numpy(), 1e-4)


def test_sharded_arguments() -> None:
    x = tensor(4, 6)
    devices = ("CPU:0", "CPU:1")
    for axis in (0, 1):
        s = x.shard(devices, axis)
        close(vmap(lambda a: a * 2 + a.sum())(s), x.numpy() * 2 + x.numpy().sum(1, keepdims=True), 1e-4)
        close(vmap(lambda a: vmap(lambda b: b * a.sum())(a))(s), x.numpy() * x.numpy().sum(1, keepdims=True), 1e-4)
    out = vmap(vmap(lambda a: a.shard(devices, 0) * 2))(x.reshape(2, 2, 6))  # sharded by the body
    assert out.uop.axis == 2
    close(out, x.numpy().reshape(2, 2, 6) * 2)


def test_dtypes_match_single_example() -> None:
    kinds = [dtypes.bool, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.float32]
    bodies = [lambda a, b: a + b, lambda a, b: a * 2.5 + b, lambda a, b: (a < b).where(a, b), lambda a, b: a.sum() + b]
    ones = Tensor.ones(3, 2).contiguous()
    for k1 in kinds:
        for k2 in kinds:
            a, b = ones.cast(k1), ones.cast(k2)
            for f in bodies:
                assert vmap(f)(a, b).dtype == f(a[0], b[0]).dtype


# ---- random numbers ----


def test_randomness() -> None:
    x = tensor(3, 4)
    draw = lambda a: Tensor.randn(4) + 0 * a  # noqa: E731
    same, different = (vmap(draw, randomness=r)(x).numpy() for r in ("same", "different"))
    assert np.ptp(same, axis=0).max() == 0
    assert np.ptp(different, axis=0).min() > 0
    assert Tensor.rand(2).shape == (2,)


def test_randomness_of_nested_vmaps() -> None:
    x, y = tensor(3), tensor(4)

    def table(outer: Any, inner: Any) -> np.ndarray:
        return vmap(lambda a: vmap(lambda b: Tensor.rand() + 0 * a * b, randomness=inner)(y), randomness=outer)(
            x
        ).numpy()

    assert len(np.unique(table("different", "different"))) == 12
    assert len(np.unique(table("same", "different"))) == 4
    assert len(np.unique(table("different", "same"))) == 3
    assert len(np.unique(table("same", "same"))) == 1


def test_random_methods() -> None:
    x = tensor(3, 4)
    draws = {
        "dropout": lambda a: a.ones_like().dropout(0.5),
        "randint": lambda a: Tensor.randint(4, high=1000) + 0 * a.int(),
        "uniform": lambda a: Tensor.uniform(4, low=2, high=3) + 0 * a,
        "randperm": lambda a: Tensor.randperm(4) + 0 * a.int(),
        "rand_like": lambda a: a.rand_like(),
        "multinomial": lambda a: a.exp().multinomial(4),
        "attention": lambda a: a.reshape(2, 2).scaled_dot_product_attention(
            a.reshape(2, 2), a.reshape(2, 2), dropout_p=0.5
        ),
    }
    with Context(TRAINING=1):
        for name, f in draws.items():
            Tensor.manual_seed(1)
            out = vmap(f, randomness="different")(x).numpy()
            assert len(np.unique(out.reshape(3, -1), axis=0)) > 1, name


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_chunks_use_same_random_numbers(randomness: Any) -> None:
    x = tensor(5, 2)

    def run(chunk: int | None) -> np.ndarray:
        Tensor.manual_seed(3)
        inner = lambda a: vmap(lambda b: Tensor.rand() + b, randomness="different", chunk_size=chunk)(a)  # noqa: E731
        f = lambda a: Tensor.randn(2) + inner(a) + Tensor.rand()  # noqa: E731
        return vmap(f, randomness=randomness, chunk_size=chunk)(x).numpy()

    np.testing.assert_allclose(run(None), run(1), rtol=1e-5)
    np.testing.assert_allclose(run(None), run(2), rtol=1e-5)


# ---- scopes ----


def test_threads_have_separate_brands() -> None:
    seen: list[Any] = []

    def body(a: Tensor) -> Tensor:
        t = threading.Thread(target=lambda: seen.append(open_brands()))
        t.start()
        t.join()
        return a

    vmap(body)(tensor(2, 2))
    assert seen == [()]


def test_gradient_by_unused_argument_is_zero() -> None:
    w, xs = Tensor([1.0, 2.0]), Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert vmap(lambda x: (w * w).sum().gradient(x)[0])(xs).tolist() == [[0, 0], [0, 0]]


_MASK, _MATRIX_MASK = np.array([True, False, True]), np.arange(12).reshape(3, 4) % 5 == 0
MASKS: dict[str, Any] = {
    "leading axis": _MASK,
    "all axes": _MATRIX_MASK,
    "last axis": (slice(None), _MATRIX_MASK[0]),
    "after an ellipsis": (..., _MATRIX_MASK[0]),
    "new axis": (None, _MASK, None),
    "with an int": (_MASK, 1),
    "two masks": (_MASK, np.array([True, False, False, True])),
    "nothing": np.zeros(3, bool),
}


@pytest.mark.parametrize("name", MASKS)
def test_numpy_mask_selects_the_same_entries_of_each_example(name: str) -> None:
    x, index = array(2, 3, 4), MASKS[name]

    def zeroed(example: Tensor) -> Tensor:
        example[index] = 0
        return example

    close(vmap(lambda example: example[index])(Tensor(x)), np.stack([example[index] for example in x]))
    wanted = x.copy()
    for example in wanted:
        example[index] = 0
    if name != "nothing":
        close(vmap(zeroed)(Tensor(x)), wanted)
    if name != "new axis":
        close(vmap(lambda example: index_update(example, index, 0.0))(Tensor(x)), wanted)


def test_unknown_option_lists_parameters() -> None:
    with pytest.raises(
        CallError, match=r"vmap: got an unexpected keyword argument 'in_dims'\n  parameters: f, in_axes"
    ):
        vmap(lambda x: x, in_dims=0)  # type: ignore[call-overload]
    assert "unknown" not in inspect.signature(vmap).parameters


@pytest.mark.parametrize("randomness", ["error", "different"])
def test_rand_from_before_the_hooks_is_rejected(randomness: Literal["error", "different"]) -> None:
    """`rand = Tensor.rand`, executed before the first use of branded, keeps tinygrad's function."""
    rand = super(Tensor, Tensor).rand
    with pytest.raises(RandomnessError, match="tinygrad's own"):
        vmap(lambda x: x + rand(4), randomness=randomness)(Tensor.ones(3, 4))
    assert vmap(lambda x: x + Tensor.rand(4), randomness="same")(Tensor.ones(3, 4)).shape == (3, 4)
