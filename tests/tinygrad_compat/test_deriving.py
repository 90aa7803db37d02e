"""Fast dtype and shape inference agrees with tinygrad, including its errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.uop import ops
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.speed import fast_shape_dtype
from tests.support.met import met

pytestmark = pytest.mark.enabled("cpu")

FLOAT, INT, WEAK = UOp.const(1.5, dtypes.float32), UOp.const(2, dtypes.int32), UOp.const(3)
MATRIX = UOp.new_buffer("CPU", 6, dtypes.float32).reshape((2, 3))
OPERANDS: list[tuple[UOp, ...]] = [
    *[(), (FLOAT,), (INT, WEAK), (FLOAT, INT), (INT < WEAK, FLOAT, INT), (FLOAT, FLOAT, INT), (UOp.invalid(), INT)],
    *[(MATRIX, MATRIX), (MATRIX, FLOAT), (MATRIX.shrink(((0, 1), (0, 3))), MATRIX), (UOp.sink(FLOAT), FLOAT)],
]


def _result(of: Callable[..., Any], *args: Any) -> Any:
    try:
        return of(*args)
    except Exception as error:
        return type(error)


def _some_kernels() -> None:
    x = Tensor.rand(3, 5)
    ((x @ x.T).softmax() * 1.43 + (x.exp() < 1.2).where(x, x[:, :1]).pad(((0, 0), (1, 0))).sum()).tolist()


def test_dtypes_match_tinygrad() -> None:
    ours, theirs = ops.dtype_from_uop, getattr(ops.dtype_from_uop, "__wrapped__")  # noqa: B009
    for op in Ops:
        for src in OPERANDS:
            for arg in (None, dtypes.half, 3):
                assert _result(ours, op, src, arg) == _result(theirs, op, src, arg), (op, src, arg)


def test_operations_of_kernels_match_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    of = UOp.__dict__[private_api.SHAPE]
    seen = met(monkeypatch, _some_kernels)
    for u in seen:
        if isinstance(_result(lambda u=u: [of.__get__(x) for x in u.src]), type):
            continue  # patterns are written with texts, whose operands have no shape
        want = _result(of.fxn.__wrapped__, u)
        u.__dict__.pop(of.nm, None)
        assert _result(lambda u=u: of.__get__(u)) == want, u
        assert _result(ops.dtype_from_uop, u.op, u.src, u.arg) == _result(
            getattr(ops.dtype_from_uop, "__wrapped__"),  # noqa: B009
            *(u.op, u.src, u.arg),
        )
    assert {u.op for u in seen} > {Ops.ADD, Ops.WHERE, Ops.CONST, Ops.CAST, Ops.LOAD, Ops.EXP2} and len(seen) > 300


def test_shapes_of_all_operations_match_tinygrad() -> None:
    of = UOp.__dict__[private_api.SHAPE]
    for op in sorted(GroupOp.ALU | fast_shape_dtype._SAME | fast_shape_dtype._OF_ONE | {Ops.STORE, Ops.END, Ops.INDEX}):
        for src in OPERANDS[1:]:
            if isinstance(_result(ops.dtype_from_uop, op, src, dtypes.half), type):
                continue
            u = UOp(op, dtypes.float32, src, dtypes.half)
            for x in src:
                of.__get__(x)
            assert _result(of.fxn, u) == _result(of.fxn.__wrapped__, u), u


def test_shape_of_a_deep_graph() -> None:
    x = UOp.new_buffer("CPU", 60, dtypes.float32)
    for i in range(3000):
        x = x * 1.5 + i
    for u in x.toposort():
        u.__dict__.pop(UOp.__dict__[private_api.SHAPE].nm, None)
    assert x.shape == (60,)


N, NOTHING = UOp.variable("n", 1, 9), UOp(Ops.NOOP)
SIZES: list[tuple[Any, ...]] = [(), (3,), (-2, -3), (2, 3), (2, 0), (1,) * 5, (2, N), (N + 1 - N,), (N * 2, 3), (INT,)]
REFUSED: list[tuple[Any, ...]] = [(True, 3), (2.0, 3), (2, None), (FLOAT,)]


@pytest.mark.parametrize("sizes", [*SIZES, *REFUSED])
def test_shape_arguments_match_tinygrad(sizes: tuple[Any, ...]) -> None:
    """Also if the arguments of an equal shape are cached: True equals 1, but is not a size."""
    equal = [ops.shape_to_shape_arg(x) for x in ((1, 3), (2, 3))]
    wanted = _result(getattr(ops.shape_to_shape_arg, "__wrapped__"), sizes)  # noqa: B009
    assert _result(ops.shape_to_shape_arg, sizes) is wanted
    assert isinstance(wanted, type) == any(sizes is x for x in REFUSED) and len(equal) == 2


def test_sizes_of_a_graph() -> None:
    sizes_of, operand_of = fast_shape_dtype.sizes_of, ops.shape_to_shape_arg
    found = [sizes_of(u) for u in (WEAK, operand_of((2, 3)), operand_of(()), FLOAT, N)]
    assert found == [(3,), (2, 3), (), None, None]
    assert sizes_of(UOp.const(True)) is None is sizes_of(operand_of((2, N)))


def test_simplified_sizes_match_tinygrad() -> None:
    plain = getattr(UOp.simplify, "__wrapped__")  # noqa: B009
    sinks = [UOp.sink(*map(ops.shape_to_shape_arg, pair)) for pair in product(SIZES, SIZES)]
    for u in (*sinks, UOp.sink(N + 0), N + 0, WEAK, MATRIX):
        assert u.simplify() is plain(u)
    assert UOp.sink(N + 0).simplify() is UOp.sink(N)


def test_movement_by_numbers_applies_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "graph_rewrite", None)
    assert MATRIX.permute((1, 0)).pad(((1, 0), (0, 2))).shrink(((0, 2), (1, 4))).reshape((3, 2)).shape == (3, 2)


def test_shapes_of_all_movements_match_tinygrad() -> None:
    """Also for unknown sizes, and for movements that do not exist."""
    of, sizes = UOp.__dict__[private_api.SHAPE], [*map(ops.shape_to_shape_arg, SIZES)]
    operands = [MATRIX, MATRIX.reshape((3, 1, 2)), FLOAT, MATRIX.reshape((6,)), MATRIX.pad(((0, N), (0, 0))), NOTHING]
    made = [UOp(op, dtypes.float32, (x, a)) for op in (Ops.RESHAPE, Ops.EXPAND) for x in operands for a in sizes]
    made += [
        UOp(op, dtypes.float32, (x, a, b))
        for op in (Ops.SHRINK, Ops.PAD)
        for x, a, b in product(operands, [*sizes, *map(ops.shape_to_shape_arg, ((0, 1), (1, 1), (1, 0)))], sizes)
    ]
    orders = [(), (0,), (1, 0), (0, 1), (0, 0), (0, 2), (2, 0, 1), (-1, 0)]
    made += [UOp(Ops.PERMUTE, dtypes.float32, (x,), order) for x in operands for order in orders]
    made += [UOp(Ops.REDUCE, dtypes.float32, (x,), (Ops.ADD, n)) for x in operands for n in (0, 1, 2, 3, 4, -1, None)]
    looked_up = 0
    for u in made:
        for x in u.src:
            of.__get__(x)
        found, wanted = _result(of.fxn, u), _result(of.fxn.__wrapped__, u)
        assert found == wanted and type(found) is type(wanted), u
        looked_up += not isinstance(found, type)
    assert 50 < looked_up < len(made) - 50


RANGES = [(7,), (2, 9), (0, 7, 2), (3, -3, -1), (1.5,), (0, 4), (0.0, 4), (False, 4), (0,), (4, 2), (2**31, 2**31 + 2)]


@pytest.mark.parametrize("of", (Tensor, UOp))
@pytest.mark.parametrize("dtype", (None, dtypes.int64, dtypes.half, dtypes.uint8, "float64"))
def test_arange_matches_tinygrad(of: Any, dtype: Any) -> None:
    """The graph is identical, and has its own dtype: 0, 0.0 and False are equal, but start three different ranges."""
    plain = getattr(UOp.arange, "__wrapped__")  # noqa: B009
    for ends in RANGES:
        wanted, found = (
            _result(lambda f, *xs: f(*xs, dtype=dtype), f, *ends) for f in (partial(plain, UOp), of.arange)
        )
        assert getattr(found, "uop", found) is wanted and (wanted is OverflowError or type(found) is of)


def test_arange_uses_the_default_int() -> None:
    assert Tensor.arange(3).dtype is dtypes.int32
    with Context(DEFAULT_INT="int64"):
        assert Tensor.arange(3).dtype is dtypes.int64


def test_copies_match_tinygrad() -> None:
    ours = gates.plain_of(UOp, "copy_to_device", None)
    n = UOp.variable("n", 1, 8).bind(3)
    x = Tensor.empty(4, 6, device="CPU:1").uop
    sharded = Tensor.empty(4, 6).shard(("CPU:0", "CPU:1"), 0).uop
    for u in (x, x.permute((1, 0)), x[1:], x.reshape(24)[:n], sharded, UOp.const(1.0), UOp.const(1.0, dtypes.float)):
        for device in ("CPU", "CPU:1", ("CPU:0", "CPU:1")):
            results: list[Any] = []
            for copy in (ours, ours.__wrapped__):
                try:
                    results.append(copy(u, device))
                except (RuntimeError, AssertionError) as error:
                    results.append((type(error), str(error)))
            assert results[0] == results[1], (u, device)


FILLED = [((2, 3), 0.0), ((2, 3), -0.0), ((2, 3), 0), ((2, 3), False), ((3,), 1.5), ((), 7), ((1, 1), 2), ((0, 3), 1.0)]
"""Shapes and numbers that are equal or not, and different tensors."""
FILLED += [((4,), float("nan")), ((4,), float("inf")), ((4,), 2**40), ((4,), -1)]


def _without_buffers(u: UOp) -> Any:
    """Return a graph in which buffers are numbered."""
    index: dict[UOp, int] = {}
    rows = []
    for v in u.toposort():
        is_buffer = v.op is Ops.BUFFER
        arg = (v.arg.dtype, v.arg.device) if is_buffer else (v.arg, repr(v.arg))
        rows.append((v.op, v.dtype, arg, v.tag, [index[s] for s in v.src]))
        index[v] = len(index)
    return str(rows)


@pytest.mark.parametrize("options", [{}, {"DEFAULT_FLOAT": "float64"}, {"DEFAULT_INT": "int8"}])
@pytest.mark.parametrize("dtype", [None, dtypes.int64, dtypes.half, dtypes.uint8, dtypes.bool, "float64"])
@pytest.mark.parametrize("device", [None, "CPU", "PYTHON", ("CPU:0", "CPU:1")])
def test_full_matches_tinygrad(device: Any, dtype: Any, options: dict[str, str]) -> None:
    """The graph is that of tinygrad with a buffer of its own."""
    plain = inspect.unwrap(Tensor.full.__func__)  # type: ignore[attr-defined]

    def graph(f: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            t = f(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)
        return _without_buffers(t.uop), t.uop.shape, type(t), t.grad, t.is_param, t.device

    with Context(**options):
        for shape, number in FILLED * 2:
            wanted = graph(partial(plain, Tensor), shape, number, dtype, device)
            assert graph(Tensor.full, shape, number, dtype=dtype, device=device) == wanted
        for args in (
            ((2, -1), 1.0),
            ((2, "x"), 1.0),
            ([2, 3], 1),
            (3, 1.0),
            ((2,), Tensor(3)),
            ((2,), 1.0, "no dtype"),
        ):
            assert graph(Tensor.full, *args, device=device) == graph(partial(plain, Tensor), *args, device=device)
        assert graph(Tensor.full, (2,), 1.0, buffer=False) == graph(partial(plain, Tensor), (2,), 1.0, buffer=False)


def test_filled_tensors_have_buffers_of_their_own() -> None:
    x, y, z = (make(2, 3) for make in (Tensor.zeros, Tensor.zeros, Tensor.ones))
    assert x.uop is not y.uop
    x.assign(z + 4)
    assert (x.tolist(), y.tolist(), z.tolist()) == ([[5.0] * 3] * 2, [[0.0] * 3] * 2, [[1.0] * 3] * 2)
