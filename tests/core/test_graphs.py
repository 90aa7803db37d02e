"""`vmap` builds the same kernels as hand-written batching, in one pass, without a trace of brands."""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor
from tinygrad.uop.ops import Ops, UOp, UOpMetaClass

from bench.columns import pair
from bench.measure import kernels, nodes, results, shared
from bench.trace import nested
from bench.workloads import WORKLOADS, Workload, attention, deep, gradients, network, pairwise, triple
from branded import brand, grad, vmap
from branded.core.boundary import enter
from branded.dispatch import Pass
from branded.graph.scope import brand_of
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import layout_of
from tests.conformance.cases import CASES

pytestmark = pytest.mark.enabled("cpu")

workloads = pytest.mark.parametrize("w", WORKLOADS, ids=lambda w: w.name)


def graph(out: Any) -> list[UOp]:
    return list(UOp.sink(*[t.uop for t in results(out)]).toposort())


def inputs(w: Workload) -> list[Tensor]:
    return [i.empty() for i in w.inputs]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, cls: type, method: str) -> Iterator[list[int]]:
    """Count the calls of a method."""
    calls, original = [0], getattr(cls, method)

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return original(*args, **kwargs)

    with monkeypatch.context() as m:
        m.setattr(cls, method, counting)
        yield calls


# ---- the kernels ----


@workloads
def test_number_of_kernels_matches_by_hand(w: Workload) -> None:
    xs = inputs(w)
    assert len(kernels(w.mapped(*xs))) == len(kernels(w.hand(*xs)))


@pytest.mark.parametrize("w", [w for w in WORKLOADS if w.same], ids=lambda w: w.name)
def test_kernels_match_by_hand(w: Workload) -> None:
    """BRANDED_CPU=0, because on the CPU each sort is a separate call of numpy."""
    xs = inputs(w)
    with Context(BRANDED_CPU=0):
        ours, hand = kernels(w.mapped(*xs)), kernels(w.hand(*xs))
    assert shared(ours, hand) == len(hand)


OF_COLUMNS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "softmax": (lambda x: x.softmax(), lambda x: x.softmax(0)),
    "log_softmax": (lambda x: x.log_softmax(), lambda x: x.log_softmax(0)),
    "layernorm": (lambda x: x.layernorm(), lambda x: x.layernorm(0)),
    "standard deviation": (lambda x: x.std(), lambda x: x.std(0)),
    "weighted sum": (lambda x: (x.softmax() * x).sum(), lambda x: (x.softmax(0) * x).sum(0)),
    "two softmaxes": (lambda x: x.softmax().log_softmax(), lambda x: x.softmax(0).log_softmax(0)),
    "under two vmaps": (
        vmap(lambda x: x.softmax(), in_axes=-1, out_axes=-1),
        lambda x: x.softmax(0),
    ),
    "rows of matrices": (lambda x: x.softmax(-1), lambda x: x.softmax(1)),
}
"""A function of a column, and the batched function by hand. Intermediate values and results are not transposed."""


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_kernels_of_column_functions(name: str) -> None:
    column, hand = OF_COLUMNS[name]
    x = Tensor.empty(6, 16, 64) if name in ("under two vmaps", "rows of matrices") else Tensor.empty(96, 64)
    ours, theirs = kernels(vmap(column, in_axes=-1, out_axes=-1)(x)), kernels(hand(x))
    assert len(ours) == len(theirs) == shared(ours, theirs)


def test_intermediate_values_keep_column_layout() -> None:
    """The examples stay the last axis of stored values, like the last axis of the arguments."""

    def f(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).tanh().softmax()

    x, w = Tensor.empty(8, 512), Tensor.empty(8, 4, 512)
    first, *_ = kernels(vmap(f, in_axes=-1, out_axes=-1)(x, w))
    hand, *_ = kernels((x.unsqueeze(1) * w).sum(0).tanh().softmax(0))
    assert first is hand


def test_gathered_rows_stay_contiguous() -> None:
    """The one-hot mask of an index is larger than the table, but it is not stored, so its layout does not count."""
    table, index, weights = Tensor.empty(512, 4, 16), Tensor.empty(4096, dtype="int32"), Tensor.empty(4096, 4, 1)
    gathered, *_ = kernels(grad(lambda t: (t[index].softmax() * weights).sum())(table))
    (end,) = (u for u in gathered.toposort() if u.op is Ops.END)
    assert [int(r.vmax) + 1 for r in end.src[1:]] == [4096, 4, 16]


COLUMNS_BY_HAND = (
    "Convolution and pooling: image_dot",
    "Convolution and pooling: max_pool2d with indices",
    "Devices: to another device and back",
    "Dtypes: int8 reductions",
    "Elementwise: closure + x",
    "Elementwise: several results",
    "Elementwise: softplus",
    "Functions: @function with two results",
    "Functions: precompiled @function",
    "Gradients: of stack and cat",
    "Indexing: tensor and integer",
    "Linear algebra: linear",
    "Movement: negative pad, reflect",
    "Movement: stack",
    "Networks: LSTMCell with a state",
    "Reductions: variance and mean at once",
    "Writing: [int] = value",
    "Writing: contiguous of a movement",
)
"""Cases whose stored values come from all kinds of operations, including slices and values read twice."""


@pytest.mark.parametrize("name", COLUMNS_BY_HAND)
def test_kernels_over_last_axis_match_by_hand(name: str) -> None:
    (case,) = [c for c in CASES if str(c) == name]
    mapped, hand = pair(case, 64)
    xs = [Tensor.empty(*arg.shape, 64, dtype=arg.dtype) for arg in case.args]
    ours, theirs = kernels(mapped(*xs)), kernels(hand(*xs))
    assert len(ours) == len(theirs) == shared(ours, theirs)


def test_layout_is_known_while_tracing() -> None:
    """`jit` traces with values that are slices of a larger tensor."""
    x = Tensor.empty(1, 3, 64).uop
    with brand("one", 1) as one:
        layout = layout_of(enter(x, one).permute((1, 0)) * 2)
    assert layout is not None and layout.strides == (1, 64)


def test_other_results_read_buffer_of_columns() -> None:
    x = Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3)).realize()
    y, z = vmap(lambda x: ((y := x * 2), y.flip(0) + 1), in_axes=1, out_axes=1)(x)
    part = (x.permute(1, 0) + 1)[:, :1].permute(1, 0)
    Tensor.realize(y, z, part)
    assert y.tolist() == [[0, 2, 4], [6, 8, 10]] and z.tolist() == [[7, 9, 11], [1, 3, 5]]
    assert part.tolist() == [[1, 2, 3]] and part.uop.base.op is Ops.BUFFER


def test_results_of_columns_have_own_buffers() -> None:
    x = Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3)).realize()
    y, moved = vmap(lambda x: x * 2, in_axes=1, out_axes=1)(x), (x.permute(1, 0) * 2)
    z = moved.permute(1, 0)
    Tensor.realize(y, z)
    assert y.uop.has_buffer_identity() and z.uop.has_buffer_identity()
    assert moved.uop.base.op is Ops.BUFFER  # it shares the buffer
    assert y.tolist() == z.tolist() == moved.permute(1, 0).tolist() == [[0, 2, 4], [6, 8, 10]]
    z[0] = 7
    assert z.tolist() == [[7, 7, 7], [6, 8, 10]]


@workloads
def test_shapes_and_dtypes_match_by_hand(w: Workload) -> None:
    xs = inputs(w)
    for ours, hand in zip(results(w.mapped(*xs)), results(w.hand(*xs)), strict=True):
        assert (ours.shape, ours.dtype) == (hand.shape, hand.dtype)


# ---- the graph ----


@workloads
def test_no_brand_is_left_in_graph(w: Workload) -> None:
    """A brand is a RANGE, entered by INDEX and left by STAGE."""
    left = [
        u for u in graph(w.mapped(*inputs(w))) if u.op in {Ops.RANGE, Ops.INDEX, Ops.STAGE} or brand_of(u) is not None
    ]
    assert left == []


@workloads
def test_graph_is_at_most_10_percent_larger(w: Workload) -> None:
    xs = inputs(w)
    ours, hand = nodes(w.mapped(*xs)), nodes(w.hand(*xs))
    assert ours <= 1.1 * hand


@workloads
def test_same_call_gives_same_graph(w: Workload) -> None:
    """Brands are new in each call but leave no trace, so tinygrad's schedule and kernel caches hit."""
    xs = inputs(w)
    for first, second in zip(results(w.mapped(*xs)), results(w.mapped(*xs)), strict=True):
        assert first.uop is second.uop


@workloads
def test_cached_shapes_match_tinygrad(w: Workload) -> None:
    for u in graph(w.mapped(*inputs(w))):
        assert u._shape == UOp._shape.fxn(u)


# ---- one pass ----


@pytest.mark.parametrize("depth", range(1, 7))
def test_one_pass_at_any_depth(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch, Pass, "run") as passes:
        nested(deep, depth)(Tensor.empty(*[2] * depth, 7))
    assert passes == [1]


def test_one_pass_for_nested_brands(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z = (Tensor.empty(n, 7) for n in (2, 3, 5))
    with counted(monkeypatch, Pass, "run") as passes:
        pairwise(x, y)
        assert passes == [1]
        triple(x, y, z)
    assert passes == [2]


def test_one_pass_for_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch, Pass, "run") as passes:
        vmap(lambda x: {"a": x.sum(), "b": [x * 2, vmap(Tensor.exp)(x)]})(Tensor.empty(3, 7))
    assert passes == [1]


def test_no_pass_for_unbatched_results(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch, Pass, "run") as passes:
        vmap(lambda x: Tensor.ones(2))(Tensor.empty(3, 7))
    assert passes == [0]


def test_depth_does_not_grow_graph() -> None:
    sizes = {nodes(nested(deep, depth)(Tensor.empty(*[3] * depth, 7))) for depth in range(1, 7)}
    assert len(sizes) == 1


# ---- size ----


def chain(length: int, x: Tensor) -> Tensor:
    for i in range(length):
        x = (x + (i + 0.5)).sin()
    return x


def test_graph_grows_linearly_with_program() -> None:
    sizes = [nodes(vmap(functools.partial(chain, n))(Tensor.empty(10, 7))) for n in (10, 20, 30, 130)]
    step = sizes[1] - sizes[0]
    assert [b - a for a, b in itertools.pairwise(sizes)] == [step, step, 10 * step]


BODIES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "elementwise": (functools.partial(chain, 5), ((7,),)),
    "softmax and scan": (deep, ((7,),)),
    "matmul": (Tensor.matmul, ((7, 3), (3, 9))),
    "attention": (attention, ((7, 3),) * 3),
    "network": (network, ((7, 3), (3, 9), (9,), (9, 3))),
    "gradients": (gradients, ((3,), (7,), (3, 9), (9, 7))),
    "conv2d": (Tensor.conv2d, ((1, 2, 7, 7), (3, 2, 3, 3))),
    "sort": (lambda x: x.sort()[0], ((7,),)),
    "random access": (lambda x: x[x.argmax()], ((7,),)),
    "concatenation": (lambda x, y: Tensor.stack(x, y).cat(y.unsqueeze(0)).pad(((1, 2), (0, 0))).flip(0), ((7,), (7,))),
}


@pytest.mark.parametrize("name", BODIES)
def test_graph_size_is_independent_of_batch_size(name: str) -> None:
    f, shapes = BODIES[name]
    small, large = (nodes(vmap(f)(*[Tensor.empty(n, *s) for s in shapes])) for n in (10, 10_000))
    assert small == large


def test_body_is_called_once() -> None:
    calls = []
    out = vmap(lambda x, y: (calls.append(1), x * y)[1])(Tensor.empty(10_000, 7), Tensor.empty(10_000, 7))
    assert out.shape == (10_000, 7)
    assert calls == [1]


def test_body_of_outer_product_is_called_once() -> None:
    calls = []
    x, y = Tensor.empty(10_000, 7), Tensor.empty(10_001, 7)
    out = vmap(lambda a: vmap(lambda b: (calls.append(1), (a * b).sum())[1])(y))(x)
    assert out.shape == (10_000, 10_001)
    assert calls == [1]


# ---- memory ----


@workloads
def test_nothing_stays_alive(w: Workload) -> None:
    """The per-example graph dies with the call, and the result with its tensor, without the garbage collector."""
    xs = inputs(w)
    w.mapped(*xs)
    gc.collect()
    gc.disable()
    try:
        before = len(UOpMetaClass.ucache)
        w.mapped(*xs)
        after = len(UOpMetaClass.ucache)
    finally:
        gc.enable()
    assert after == before
