"""The CPU backend: which kernels are plain loops, and that their results equal the graph's."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded import fori_loop, jit, ppermute, random, scan, vjp, vmap
from branded.backends import cpu
from branded.backends.cpu.renderer import kernel_marks, loops
from branded.backends.cpu.renderer.materialize_shared import materialize_shared_values
from branded.tinygrad_compat import private_api, zig_clang
from branded.tinygrad_compat.speed import compile_workers
from tests.fuzz import cpu_fuzz
from tests.support.by_numpy import read, reads
from tests.support.examples import in_memory
from tests.support.profiles import amount, pairs

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        Device.DEFAULT != "CPU" or type(Device["CPU"].renderer) is not private_api.cstyle.ClangRenderer,
        reason="kernels of clang",
    ),
]


def programs_of(x: Tensor) -> list[UOp]:
    """Return the compiled programs of a tensor."""
    linear = private_api.realize.compile_linear(x.linear_with_vars()[0])
    return [call.src[0] for call in linear.src if call.src[0].op is Ops.PROGRAM]


def uncompiled_of(x: Tensor) -> list[UOp]:
    """Return the programs of a tensor without compiling them, to inspect their source."""
    renderer: Any = copy.copy(Device["CPU"].renderer)
    renderer.compiler = private_api.device.Compiler()
    return [private_api.codegen.do_to_program(call.src[0], renderer) for call in x.schedule_linear().src]


def source(program: UOp) -> str:
    return next(str(u.arg) for u in program.src if u.op is Ops.SOURCE)


def is_loops(program: UOp) -> bool:
    return kernel_marks.LOOPS in program.src[0].arg.applied_opts


def data(*shape: int) -> Tensor:
    return in_memory(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def ints(*shape: int) -> Tensor:
    """Return integers, which no BLAS multiplies."""
    return in_memory((8 * np.random.default_rng(0).standard_normal(shape).astype(np.float32)).astype(np.int32))


# ---- choice of kernels ----

LOOPS: dict[str, Callable[[], Tensor]] = {
    "windows at computed places": lambda: (windows(data(713), 13, 701) * data(701)).sum(1),
    "elementwise": lambda: (data(40, 30).sin() * 2).tanh(),
    "a border": lambda: data(40, 30).pad(((1, 1), (1, 1))) + 1,
    "a row for all": lambda: data(40, 30) + data(30),
    "a column for all": lambda: data(40, 30) + data(40, 1),
    "sums of rows": lambda: data(30, 40).sum(1),
    "the sum of all": lambda: data(40, 30).sum(),
    "largest of rows": lambda: data(30, 100).max(1),
    "sum of exponentials": lambda: data(40, 20).exp().sum(1),
    "a product in a sum": lambda: (data(40, 30) * data(40, 30)).sum(1),
    "matrix-vector products": lambda: (data(8, 20, 30) @ data(8, 30, 1)).squeeze(-1),
    "all pairs": lambda: (data(20, 1, 32) - data(1, 24, 32)).square().sum(-1),
}
TILES: dict[str, Callable[[], Tensor]] = {
    "sums of columns": lambda: data(40, 30).sum(0),
    "a product of matrices of integers": lambda: ints(8, 160) @ ints(160, 24),
    "a transposed matrix": lambda: data(40, 30).T.contiguous(),
    "row count not divisible by four": lambda: data(30, 32).sum(1),
    "short rows of integers": lambda: (ints(100, 24) * ints(100, 24)).sum(1),
    "rows of ten": lambda: data(100, 10).sum(1),
    "rows of twelve, all pairs": lambda: (data(30, 8, 1, 12) - data(30, 1, 8, 12)).square().sum(-1),
    "largest of short rows": lambda: data(100, 24).max(1),
    "every other number": lambda: data(40, 60)[:, ::2] + 1,
    "a few short rows": lambda: data(6, 4).sqrt().sum(1),
}
ROWS: dict[str, Callable[[], Tensor]] = {
    "sums of rows of 4": lambda: data(100, 4).sum(1),
    "largest of rows of 3": lambda: data(100, 3).max(1),
    "scaled rows": lambda: data(100, 4) * data(100, 1).exp(),
    "rotated rows": lambda: rotated(data(100), data(100, 2)).contiguous(),
    "distances in the plane": lambda: (data(40, 1, 2) - data(1, 24, 2)).square().sum(-1).neg().exp(),
    "exponentials of all pairs": lambda: (data(40, 1) - data(1, 20)).exp().sum(1),
    "sums of columns of 20": lambda: data(20, 300).sum(0),
    "a convolution of integers": lambda: ints(4, 3, 16, 16).conv2d(ints(5, 3, 3, 3)),
    "small matrices": lambda: ints(30, 8, 8) @ ints(30, 8, 8),
}


ABREAST: dict[str, tuple[Callable[[], Tensor], int]] = {
    "short rows": (lambda: data(100, 32).sum(1), 4),
    "products of short rows": (lambda: (data(96, 24) * data(96, 24)).sum(1), 8),
    "rows of seventeen": (lambda: data(40, 17).prod(1), 8),
    "rows of twelve doubles": (lambda: data(40, 12).double().realize().square().sum(1), 8),
    "eight by five rows": (lambda: (data(8, 5, 20) * data(5, 20) + 1).sum(-1), 8),
    "distances of short rows": (lambda: (data(40, 1, 16) - data(1, 24, 16)).square().sum(-1), 8),
    "probabilities of ten classes": (lambda: (data(40, 10) - data(40, 1)).exp().sum(1), 8),
    "quotients": (lambda: (data(40, 20) / (data(40, 20).abs() + 1)).sum(1), 8),
    "halves": (lambda: data(40, 20).half().realize().sum(1), 8),
}


def windows(x: Tensor, count: int, length: int) -> Tensor:
    """Return the windows of a signal at the places 0, 1, …, which tinygrad computes as 32-bit ints."""
    return x[Tensor.arange(count).reshape(-1, 1) + Tensor.arange(length)]


def rotated(a: Tensor, x: Tensor) -> Tensor:
    (p, q), sin, cos = x.T, a.sin(), a.cos()
    return Tensor.stack(cos * p - sin * q, sin * p + cos * q, dim=1)


@pytest.mark.parametrize("name", LOOPS)
def test_plain_loops(name: str) -> None:
    (program,) = programs_of(LOOPS[name]())
    assert is_loops(program)
    with cpu.plain():
        (before,) = uncompiled_of(LOOPS[name]())
    assert not is_loops(before) and source(before) != source(program)


@pytest.mark.parametrize("name", TILES)
def test_kernels_left_to_tinygrad(name: str) -> None:
    (program,) = programs_of(TILES[name]())
    with cpu.plain():
        (before,) = uncompiled_of(TILES[name]())
    assert not is_loops(program) and source(before) == source(program)


@pytest.mark.parametrize("name", ROWS)
def test_short_rows_are_vectorized_over_rows(name: str) -> None:
    (program,) = programs_of(ROWS[name]())
    assert is_loops(program) and "float4" not in source(program)
    options = {opt.op for opt in program.src[0].arg.applied_opts}
    assert options & {private_api.OptOps.UPCAST, private_api.OptOps.UNROLL} or kernel_marks.PRAGMA in source(program)
    np.testing.assert_allclose(ROWS[name]().numpy(), read(ROWS[name]()), rtol=2e-6, atol=1e-6)


COLUMNS: dict[str, Callable[[], Tensor]] = {
    "four columns of each of twenty": lambda: data(20, 100, 4).sum(1),
    "products": lambda: (data(20, 64, 3) * data(20, 64, 3)).sum(1),
    "three columns": lambda: data(200, 3).exp().sum(0),
    "doubles": lambda: data(20, 70, 4).double().realize().prod(1),
    "halves": lambda: data(20, 100, 8).half().realize().sum(1),
}
OTHER_COLUMNS: dict[str, Callable[[], Tensor]] = {
    "few terms": lambda: data(20, 40, 4).sum(1),
    "largest": lambda: data(20, 100, 4).max(1),
    "integers": lambda: ints(20, 100, 4).sum(1),
    "nine columns": lambda: data(20, 100, 9).sum(1),
    "eight doubles": lambda: data(20, 100, 8).double().realize().sum(1),
    "columns that lie apart": lambda: (data(20, 100, 8)[:, :, ::2] * 2).sum(1),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_narrow_columns_are_summed_together(name: str) -> None:
    (program,) = programs_of(COLUMNS[name]())
    assert is_loops(program) and any(opt.op is private_api.OptOps.UPCAST for opt in program.src[0].arg.applied_opts)
    found, expected = COLUMNS[name]().numpy(), read(COLUMNS[name]())
    np.testing.assert_allclose(found, expected, rtol=2e-3 if name == "halves" else 1e-5, atol=1e-5)


@pytest.mark.parametrize("name", OTHER_COLUMNS)
def test_other_columns_are_left_to_tinygrad(name: str) -> None:
    (program,) = programs_of(OTHER_COLUMNS[name]())
    assert not is_loops(program)


@pytest.mark.parametrize("name", ABREAST)
def test_short_rows_are_summed_side_by_side(name: str) -> None:
    f, rows = ABREAST[name]
    (program,) = programs_of(f())
    assert [opt.arg for opt in program.src[0].arg.applied_opts if opt.op is private_api.OptOps.UPCAST] == [rows]
    assert is_loops(program) and loops_of_vectors(program) == 1
    np.testing.assert_allclose(f().numpy(), read(f()), rtol=2e-3 if name == "halves" else 1e-5, atol=1e-5)


def test_cosine_in_loop_uses_c_helper() -> None:
    """The loop step keeps the cosine; sin(pi / 2 - x) would lose precision to the rounding of x."""
    x = data(3, 40) * 1000 + 5000
    found = jit(lambda x: scan(lambda c, x: (c, x.cos()), x[0] * 0, x)[1])(x)
    np.testing.assert_allclose(found.numpy(), np.cos(x.numpy().astype(np.float64)), atol=2e-7)


# ---- values shared by several kernels ----


def three_sums(key: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    """Return three sums of random numbers, one kernel each."""
    y = random.normal(key, (20, 10)) * 2
    return (y * x).sum(), (y + x).abs().sum(0), (y - x).square().sum(1)


def test_value_of_many_kernels_is_stored_once() -> None:
    key, x = random.key(3), data(10)
    values = [y.uop for y in three_sums(key, x)]
    inserted = set(UOp.sink(*materialize_shared_values(values)).toposort()) - set(UOp.sink(*values).toposort())
    (new,) = [u for u in inserted if u.op is Ops.CONTIGUOUS]
    assert new.shape == (20, 10)
    with cpu.plain():
        assert materialize_shared_values(values) == values
    for found, right in zip(jit(three_sums)(key, x), reads(three_sums(key, x)), strict=True):
        np.testing.assert_allclose(found.numpy(), right, rtol=1e-5)


@pytest.mark.parametrize("is_negated", [False, True])
def test_index_mask_keeps_plain_loads(is_negated: bool) -> None:
    x = data(64, 64)
    index = Tensor.arange(64)
    mask = index.reshape(64, 1) >= index if is_negated else index.reshape(64, 1) < index
    y = mask.where(0, x) if is_negated else mask.where(x, 0)
    (program,) = programs_of(y.exp())
    assert is_loops(program) and "?*" not in source(program)
    np.testing.assert_allclose(y.numpy(), np.triu(x.numpy(), 1))


def test_out_of_bounds_load_has_a_condition() -> None:
    x = data(64, 64)
    y = x.pad(((1, 1), (2, 0)))
    assert any("?*" in source(program) for program in programs_of(y + 1))
    np.testing.assert_allclose((y + 1).numpy(), np.pad(x.numpy(), ((1, 1), (2, 0))) + 1)


SHAPES_AND_SHIFTS = pairs([(16, 64), (15, 16), (5, 128)], [(-1, -1), (3, 3), (0, 2)])


@pytest.mark.parametrize(("places", "dtype"), pairs(SHAPES_AND_SHIFTS, [np.uint8, np.int16, np.int64, np.float32]))
def test_periodic_index_in_a_row_starts_again(places: tuple[tuple[int, int], tuple[int, int]], dtype: type) -> None:
    shape, shifts = places
    values = (np.arange(shape[0] * shape[1]).reshape(shape) * 37 % 101).astype(dtype)
    x = Tensor(values).realize()
    expected = np.roll(values, shifts, (0, 1))

    def shift(x: Tensor) -> tuple[Tensor, ...]:
        moved = x.roll(shifts, (0, 1))
        return moved, moved + x, moved.float().sum(1)

    for found, right in zip(jit(shift)(x), (expected, expected + values, expected.astype("f").sum(1)), strict=True):
        np.testing.assert_array_equal(found.numpy(), right)


def test_long_chain_is_cut_into_kernels() -> None:
    def chain(x: Tensor) -> Tensor:
        for _ in range(700):
            x = (x * 1.01).tanh()
        return x

    x = data(50)
    assert sum(u.op is Ops.CONTIGUOUS for u in materialize_shared_values([chain(x).uop])[0].toposort()) >= 2
    expected = x.numpy()
    for _ in range(700):
        expected = np.tanh(expected * np.float32(1.01))
    np.testing.assert_allclose(jit(vmap(chain))(x).numpy(), expected, rtol=1e-4)


def test_value_of_one_kernel_is_not_stored() -> None:
    y = data(8, 16)
    for k in range(60):
        y = y * 0.9 + k
    values = [u.uop for u in (y, y.sum(), data(8, 16).sum(0), data(8, 16).exp().sum(1))]
    assert materialize_shared_values(values) == values  # two kernels, or few operations
    large = data(64, 64)
    for k in range(60):
        large = (large + k).abs()
    values = [u.uop for u in (large.sum(), large.sum(0), (large + 1).sum(1))]
    assert materialize_shared_values(values) == values


def test_only_sums_are_reassociated() -> None:
    (program,) = programs_of((data(40, 30).exp() - 1).sum(1))
    text = source(program)
    assert text.count("#pragma clang fp reassociate(on)") == 1
    assert text.index("return a + b;") < text.index("void r_")  # in a function of its own
    assert "pragma" not in source(programs_of(data(40, 30).exp() - 1)[0])


def test_sums_of_products_of_exp_are_vectorized() -> None:
    """A multiply-add would be computed element by element, under the conditions of `exp`."""
    (program,) = uncompiled_of((data(40, 64).exp() * data(64)).sum(1))
    assert is_loops(program) and loops_of_vectors(program) == 1


def loops_of_vectors(program: UOp) -> int:
    """Return the number of loops of a program that clang vectorizes."""
    compiler: Any = Device["CPU"].renderer.compiler
    given = ["-c", "-x", "c", "-O2", "-ffreestanding", f"--target={compiler.arch}-none-unknown-elf", *compiler.args]
    words = [*zig_clang.command(), *given, "-Rpass=loop-vectorize", "-", "-o", os.devnull]
    run = subprocess.run(words, input=source(program), capture_output=True, text=True, check=True)
    return run.stderr.count("vectorized loop")


def test_short_loops_in_parts_and_steps_vectorize() -> None:
    """Clang does not vectorize a loop of 14 elements after an offset that may overflow an int."""
    x, w = data(512, 1, 16, 16), data(4, 1, 3, 3)
    with Context(NUM_CPU_THREADS=2):
        (part,) = programs_of(x.conv2d(w))
    assert part.arg.global_size[0] == 2 and is_loops(part) and loops_of_vectors(part) == 1
    step = UOp.variable("step", 0, 7)
    (program,) = programs_of(data(8, 4, 3, 16, 16)[step.bind(2)].conv2d(data(3, 3, 3, 3)))
    assert [v.expr for v in program.arg.vars] == ["step"] and is_loops(program) and loops_of_vectors(program) == 1


def test_tile_with_too_much_unrolling_keeps_loops() -> None:
    """A 4 x 4 tile of a convolution has 9 products per element: 144 lines that compile slowly."""
    x, w = ints(4, 16, 16, 16), ints(8, 16, 3, 3)
    (program,) = programs_of(x.conv2d(w))
    opts = program.src[0].arg.applied_opts
    assert {opt.op.name for opt in opts} >= {"UPCAST"} and not any(opt.op is private_api.OptOps.UNROLL for opt in opts)
    with cpu.plain():
        (program,) = uncompiled_of(x.conv2d(w))
        assert any(opt.op is private_api.OptOps.UNROLL for opt in program.src[0].arg.applied_opts)
    np.testing.assert_array_equal(x.conv2d(w).numpy(), read(x.conv2d(w)))
    (program,) = programs_of(ints(8, 160) @ ints(160, 24))  # a tile of 64
    assert any(opt.op is private_api.OptOps.UNROLL for opt in program.src[0].arg.applied_opts)


def test_clang_unrolls_short_reductions_of_ints() -> None:
    """tinygrad takes 0.1 s to unroll 32 rows. The scale is one maximum for all columns, so it keeps its loop."""
    x, scale = ints(32, 512), data(96)

    def scaled() -> Tensor:
        return x.sum(0) * scale.max()

    product, with_rest = ints(40, 32) @ ints(32, 64), ints(40, 32) @ ints(32, 37)
    convolution = ints(4, 3, 16, 16).conv2d(ints(5, 3, 3, 3))
    for y, loops_of_clang, of_vectors in ((product, 1, 1), (with_rest, 2, 2), (convolution, 3, 1)):
        (program,) = programs_of(y)
        assert source(program).count(kernel_marks.PRAGMA) == loops_of_clang
        assert loops_of_vectors(program) == of_vectors
        np.testing.assert_array_equal(y.numpy(), read(y))
    (program,) = programs_of(scaled())
    assert source(program).count(kernel_marks.PRAGMA) == 1 and loops_of_vectors(program) == 2
    np.testing.assert_array_equal(scaled().numpy(), read(scaled()))
    for floats in (data(32, 512).sum(0), x.float().realize().sum(0) * x.sum(0)):
        assert not any(kernel_marks.PRAGMA in source(program) for program in programs_of(floats))


def test_maxima_of_ints_keep_loops() -> None:
    """Four rows of 16 entries would be 64 comparisons; clang compiles a loop in half the time, to faster code.

    A maximum of floats is unrolled, because it is NaN if the first element of a row is, which a loop ignores.
    """
    for x, is_unrolled in ((ints(2000, 16), False), (ints(2000, 16) > 3, False), (data(2000, 16), True)):
        (program,) = programs_of(x.max(1))
        options = {opt.op for opt in program.src[0].arg.applied_opts}
        assert (private_api.OptOps.UNROLL in options) == is_unrolled and private_api.OptOps.UPCAST in options
        np.testing.assert_array_equal(x.max(1).numpy(), read(x.max(1)))
    with cpu.plain():
        (program,) = uncompiled_of(ints(2000, 16).max(1))
        assert any(opt.op is private_api.OptOps.UNROLL for opt in program.src[0].arg.applied_opts)


def test_expensive_sum_is_not_unrolled() -> None:
    """The 20 terms have eight functions each, and each function takes several lines of C."""
    x = data(20, 12)

    def dear() -> Tensor:
        return ((x.exp() + 1).log() * (x.square() + 1).sqrt().log() / (x.exp2().sin() + 2).sqrt()).sum(0)

    (program,) = programs_of(dear())
    assert not program.src[0].arg.applied_opts
    with cpu.plain():
        (before,) = uncompiled_of(dear())
        assert [opt.op for opt in before.src[0].arg.applied_opts] == [private_api.OptOps.UNROLL]
    np.testing.assert_allclose(dear().numpy(), read(dear()), rtol=1e-4)
    assert 5 * len(source(program)) < len(source(before))


# ---- values kept in memory ----


def count_exps(*xs: Tensor) -> tuple[int, list[int]]:
    """Return the number of `exp` operations in the kernels, and the number of elements that each kernel writes."""
    asts = [call.src[0] for call in xs[0].schedule_linear(*xs[1:]).src]
    sizes = [int(u.src[0].src[0].max_numel()) for ast in asts for u in ast.toposort() if u.op is Ops.STORE]
    return sum(u.op is Ops.EXP2 for ast in asts for u in ast.toposort()), sizes


KEPT: dict[str, Callable[[], list[Tensor]]] = {
    "softmax": lambda: [data(64, 128).softmax()],
    "sums of rows and of columns": lambda: [(y := data(64, 128).tanh()).sum(0), y.sum(1)],
    "attention": lambda: [(data(4, 64, 16) @ data(4, 16, 64)).softmax() @ data(4, 64, 16)],
    "large sigmoid": lambda: [(y := data(1200, 1200).sigmoid()).sum(0), y.sum(1)],
    "an outer product": lambda: [(y := (data(128, 1) * data(1, 127)).exp()).sum(0), y.sum(1)],
    "adjacent rows of an outer product": lambda: [(y := (data(128, 1) * data(1, 127)).exp())[1:] - y[:-1]],
}
AGAIN: dict[str, Callable[[], list[Tensor]]] = {
    "small": lambda: [data(16, 20).softmax()],
    "large": lambda: [data(1200, 1200).softmax()],
    "larger than its inputs and the cache": lambda: [(y := (data(1200, 1) * data(1, 1200)).tanh()).sum(0), y.sum(1)],
}


@pytest.mark.parametrize("name", KEPT)
def test_expensive_value_is_computed_once(name: str) -> None:
    times, _ = count_exps(*KEPT[name]())
    with cpu.plain():
        before, _ = count_exps(*KEPT[name]())
    assert (times, before) == (1, 2)
    for x, want in zip(KEPT[name](), reads(KEPT[name]()), strict=True):
        np.testing.assert_allclose(x.numpy(), want, rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize("name", AGAIN)
def test_value_is_recomputed_if_cheaper(name: str) -> None:
    found = count_exps(*AGAIN[name]())
    with cpu.plain():
        assert found == count_exps(*AGAIN[name]())


def test_summed_outer_product_is_never_stored() -> None:
    a, b = data(512), data(512)
    _, sizes = count_exps((a.reshape(512, 1) * b).exp().sum(1))
    assert sizes == [512]


def halo(y: Tensor) -> Tensor:
    """Each example reads the last element of the example before it and the first of the next one."""
    up, down = [(0, 1), (1, 2), (2, 3)], [(1, 0), (2, 1), (3, 2)]

    def step(v: Tensor) -> Tensor:
        p = ppermute(v, "i", up)[-1:].cat(v, ppermute(v, "i", down)[:1])
        return p[2:] - p[:-2]

    return vmap(step, axis_name="i")(y)


STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "ppermute and cat": halo,
    "a stencil": lambda y: (p := y.pad(((1, 1), (0, 0))))[2:] - p[:-2],
    "cat": lambda y: vmap(lambda v: v[1:].cat(v[:1]) - v)(y),
}


@pytest.mark.parametrize("name", STEPS)
def test_kernel_length_is_linear_in_steps(name: str) -> None:
    """Each step reads its input in several places; the kernels must not grow quadratically."""

    def operations(steps: int) -> int:
        y = data(4, 3)
        for _ in range(steps):
            y = STEPS[name](y)
        return sum(len(call.src[0].toposort()) for call in y.schedule_linear().src)

    assert operations(16) < 3 * operations(8)
    y = data(4, 3)
    for _ in range(12):
        y = STEPS[name](y)
    np.testing.assert_allclose(y.numpy(), read(y), rtol=1e-5, atol=1e-5)


def test_schedules_are_cached_per_switch() -> None:
    """tinygrad caches schedules; those with the CPU code generator off are separate."""
    x = data(64, 128)
    assert count_exps(x.softmax())[0] == 1
    with cpu.plain():
        assert count_exps(x.softmax())[0] == 2
    assert count_exps(x.softmax())[0] == 1


# ---- numerics ----

SPECIAL = np.array(
    [*(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-40, -1e-40, 1e-38, 3e38, -3e38, 88.0, -104.0)],
    dtype=np.float32,
)
ONE: dict[str, Callable[[Tensor], Tensor]] = {
    **{
        f: getattr(Tensor, f)
        for f in (
            *("neg", "abs", "exp", "exp2", "log", "log2", "tanh", "sigmoid", "sqrt", "rsqrt"),
            *("reciprocal", "relu", "sign", "trunc", "floor", "ceil", "round", "erf", "isnan", "isinf", "square"),
        )
    },
    "1 / x": lambda x: 1 / x,
    "x + 0": lambda x: x + Tensor(0.0),
    "x * 0": lambda x: x * Tensor(0.0),
    "where": lambda x: (x < 1).where(x, -x),
    "(x + 1) - 1": lambda x: (x + 1) - 1,
}
POWERS = {"exp", "exp2", "tanh", "sigmoid", "erf"}
"""Functions that contain an exponential, which is more accurate than tinygrad's; see `test_exponentials.py`."""
TWO: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": Tensor.add,
    "sub": Tensor.sub,
    "mul": Tensor.mul,
    "div": Tensor.div,
    "maximum": Tensor.maximum,
    "minimum": Tensor.minimum,
    "copysign": Tensor.copysign,
    "less": lambda x, y: x < y,
    "equal": lambda x, y: x == y,
    "where": lambda x, y: (x < y).where(x, y),
}


def bits(x: Tensor) -> np.ndarray:
    """Return the bits of a result, with one bit pattern for all NaNs."""
    a = x.numpy()
    return np.where(np.isnan(a), np.float32(np.nan), a).view(np.uint32) if a.dtype == np.float32 else a


@pytest.mark.parametrize("name", ONE)
def test_special_values(name: str) -> None:
    x = Tensor(np.tile(SPECIAL, 4)).realize()
    ours = ONE[name](x)
    with cpu.plain():
        expected = ONE[name](x)
        if name not in POWERS:
            np.testing.assert_array_equal(bits(ours), bits(expected))
        else:
            np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-5)
            np.testing.assert_array_equal(np.signbit(ours.numpy()), np.signbit(expected.numpy()))


@pytest.mark.parametrize("name", TWO)
def test_pairs_of_special_values(name: str) -> None:
    x, y = (Tensor(a.copy()).realize() for a in np.meshgrid(SPECIAL, SPECIAL))
    ours = bits(TWO[name](x, y))
    with cpu.plain():
        np.testing.assert_array_equal(ours, bits(TWO[name](x, y)))


def test_signed_zeros_match_numpy() -> None:
    x = np.tile(np.array([0.0, -0.0], np.float32), 20)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal((1 / Tensor(x)).numpy(), 1 / x)
    assert not np.signbit((Tensor(np.full(40, -0.0, np.float32)).sum()).numpy())
    assert np.signbit((Tensor(x) * -1).numpy()).tolist() == np.signbit(x * -1).tolist()


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
@pytest.mark.parametrize("size", [16, 37, 130])
def test_sums_keep_nan_and_infinities(dtype: Any, size: int) -> None:
    rows = np.ones((6, size))
    rows[0, 3], rows[1, 5], rows[2, 7], rows[2, 11], rows[3, size - 1] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    x = Tensor(rows).cast(dtype).realize()
    np.testing.assert_array_equal(x.sum(1).numpy(), [np.inf, -np.inf, np.nan, np.nan, size, size])
    np.testing.assert_array_equal((x * x).sum(1).numpy(), [np.inf, np.inf, np.inf, np.nan, size, size])


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
def test_maximum_ignores_nan(dtype: Any) -> None:
    """tinygrad's max(a, b) is a if b is NaN, applied to one element after the other."""
    rows = np.random.default_rng(0).standard_normal((5, 40))
    rows[0, 0] = rows[1, 17] = rows[2, 39] = np.nan
    rows[3] = np.nan
    rows[4, 7] = np.inf
    x = Tensor(rows).cast(dtype).realize()
    with np.errstate(all="ignore"):
        wanted = np.fmax.reduce(x.numpy(), 1, initial=-np.inf)
    np.testing.assert_array_equal(x.max(1).numpy(), wanted)


def test_elementwise_programs_are_bitwise_equal() -> None:
    x = Tensor(np.linspace(-90, 90, 5000, dtype=np.float32)).realize()

    def f(x: Tensor) -> Tensor:
        return ((x.log2() * 2 + x.abs().sqrt()).trunc() / (x.square() + 1)).log2() - x.abs()

    ours = f(x).numpy()
    with cpu.plain():
        np.testing.assert_array_equal(ours, f(x).numpy())


def test_sums_are_as_exact_as_tinygrads() -> None:
    x = data(50, 4000)
    exact = x.numpy().astype(np.float64).sum(1)
    ours = np.abs(x.sum(1).numpy() - exact).max()
    with cpu.plain():
        assert ours <= np.abs(x.sum(1).numpy() - exact).max()


def test_random_programs() -> None:
    """Run more programs with `python -m tests.fuzz.cpu_fuzz`."""
    programs = [cpu_fuzz.program(1, i) for i in range(amount(12, 30))]
    assert not [f"{p.text}: {said}" for p in programs if (said := cpu_fuzz.wrong(p))]


def test_fuzz_detects_a_wrong_element() -> None:
    p = cpu_fuzz.Program("", Tensor([1.0, 2.0]), np.array([1.0, 2.001]), np.array([1e-6, 1e-6]))
    assert cpu_fuzz.wrong(p) == "1 of 2 are wrong, as 2.0 at (1,) in place of 2.001"


# ---- switching the CPU code generator ----


def test_programs_are_cached_per_switch() -> None:
    (ast,) = [call.src[0] for call in data(20, 30).sum(1).schedule_linear().src]
    renderer = Device["CPU"].renderer
    keys = {private_api.codegen.to_program_key(ast, renderer)}
    with cpu.plain():
        keys.add(private_api.codegen.to_program_key(ast, renderer))
    assert len(keys) == 2


def test_jit_compiles_a_program_per_switch() -> None:
    f = jit(lambda x: x.sum(1))
    x = data(20, 30)
    on = f(x).numpy()
    with cpu.plain():
        off = f(x).numpy()
        plain = x.sum(1).numpy()
    assert f.traces == 2
    np.testing.assert_array_equal(on, x.sum(1).numpy())
    np.testing.assert_array_equal(off, plain)


def test_loop_compiles_a_step_per_switch() -> None:
    x = data(400)

    def sums() -> np.ndarray:
        return scan(lambda c, _: (c * 0.5 + (x + c).sum(), c), Tensor(0.0), None, length=5)[1].numpy()

    on = sums()
    with cpu.plain():
        off = sums()
    assert (on != off).any()
    np.testing.assert_allclose(on, off, rtol=1e-4)
    np.testing.assert_array_equal(on, sums())


def test_plain_block_is_left_on_error() -> None:
    with pytest.raises(ValueError, match="x"), cpu.plain():
        assert not loops.cpu_codegen.value
        raise ValueError("x")
    assert loops.cpu_codegen.value


PROGRAM = """
import sys
import branded
import numpy as np
from tinygrad import Tensor
x = Tensor(np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)).realize()
a, b = x.sum(1).contiguous(), (x * x).sum(1).contiguous()
a.realize(b)
print(a.numpy().tobytes().hex(), b.numpy().tobytes().hex())
"""


def run(**options: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CCACHE": "0", **options}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_workers_and_environment_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with Context(PARALLEL=0):
        exec(PROGRAM, {})
    here = capsys.readouterr().out
    assert run(PARALLEL="2") == here
    off = run(PARALLEL="2", BRANDED_CPU="0")
    assert off != here
    assert run(PARALLEL="0", BRANDED_PATCHES="0") == off


def test_worker_processes_install_the_backend() -> None:
    assert loops.__name__ in compile_workers.INSTALLED


def test_noopt_is_left_alone() -> None:
    with Context(NOOPT=1):
        (program,) = programs_of(data(20, 30).sum(1))
    assert not is_loops(program)


def test_float64_vectors_are_cast_to_float16() -> None:
    x = Tensor([[-0.5, 1.0, -2.0], [0.5, -0.25, 2.0]], dtype="float16", device="CPU").realize()

    def step(_: Tensor, c: Tensor) -> Tensor:
        y, pullback = vjp(lambda v: v.maximum(c), c)
        return pullback(y * 0 + 1)[0]

    with Context(DEV="CPU"):  # type: ignore[no-untyped-call]
        assert fori_loop(0, 1, step, x).tolist() == [[0.5] * 3] * 2
