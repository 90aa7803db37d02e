"""Calls that differ in the part of a buffer share a kernel, and slices of small values share their functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded import grad, jit, scan, vmap
from branded.backends.cpu.renderer import materialize_shared
from branded.backends.cpu.renderer.bufferize_policy import FEW
from branded.backends.cpu.runtime import native, shared_kernels
from branded.compile import linear_program
from tests.support.kernels import note_kernels
from tests.support.profiles import pairs

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler"),
]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layers(x: Tensor, w: Tensor) -> Tensor:
    """Return a network in which layer i reads `w[i]`."""
    for i in range(int(w.shape[0])):
        x = (x.unsqueeze(0) @ w[i]).squeeze(0).sin()
    return x


def columns(x: Tensor, w: Tensor) -> Tensor:
    """Return a network in which layer i reads every n-th element of `w`."""
    for i in range(int(w.shape[-1])):
        x = (x * w[:, i]).contiguous() + x.sum()
    return x


def shifted(x: Tensor, w: Tensor) -> Tensor:
    """Return a sum of neighbors, from an odd first element."""
    n = int(x.shape[0])
    for i in range(6):
        x = (x * w[i + 1 : i + 1 + n] + w[2 * i : 2 * i + n]).contiguous()
    return x


def neighbors(x: Tensor, w: Tensor) -> Tensor:
    """Return a product with neighbors, each time from the element after an aligned one."""
    for i in range(5):
        x = (x * w[64 * i + 1 : 64 * i + 1 + x.shape[0]]).contiguous()
    return x


def backwards(x: Tensor, w: Tensor) -> Tensor:
    """Return a product with parts in reverse order, which end after an aligned element."""
    for i in range(5):
        x = (x * w[64 * i + 30 : 64 * i + 30 + x.shape[0]].flip(0)).contiguous()
    return x


def written(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    """Return many small results, computed from parts."""
    rows = [(x * w[i]).sum() for i in range(int(w.shape[0]))]
    return tuple(rows)


PROGRAMS: Sequence[tuple[Callable[..., Any], Any, Any]] = [
    (layers, numbers(9), numbers(5, 9, 9)),
    (layers, numbers(16), numbers(4, 16, 16)),
    (columns, numbers(24), numbers(24, 7)),
    (shifted, numbers(40), numbers(64)),
    (neighbors, numbers(40), numbers(400)),
    (backwards, numbers(40), numbers(400)),
    (written, numbers(64), numbers(6, 64)),
]
NAMES = ["layers of 9", "layers of 16", "columns", "two sums", "neighbors", "backwards", "results"]


def reads(x: Any) -> list[Any]:
    return [y.numpy() for y in (x if isinstance(x, tuple) else (x,))]


@pytest.mark.parametrize(("f", "x", "w"), PROGRAMS, ids=NAMES)
def test_shared_kernels_compute_the_same(
    f: Callable[..., Any], x: Any, w: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = note_kernels(monkeypatch)
    found = [reads(jit(f)(Tensor(x), Tensor(w))), reads(jit(vmap(f, in_axes=(0, None)))(Tensor(x[None]), Tensor(w)))]
    shared = len({call.src[0] for call in compiled})
    del compiled[:]
    monkeypatch.setattr(linear_program, "share_kernels", lambda calls: (calls, [{} for _ in calls.src]))
    alone = reads(jit(f)(Tensor(x), Tensor(w))), reads(jit(vmap(f, in_axes=(0, None)))(Tensor(x[None]), Tensor(w)))
    for a, b in zip(found[0], alone[0], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(found[1], alone[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert shared <= len({call.src[0] for call in compiled})


def test_columns_share_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = note_kernels(monkeypatch)
    jit(columns)(Tensor(numbers(24)), Tensor(numbers(24, 7))).realize()
    kernels = [call.src[0] for call in compiled if call.src[0].op is Ops.SINK]
    assert len(kernels) >= 7 and len(set(kernels)) <= 4


@pytest.mark.parametrize(("f", "last"), [(neighbors, 256), (backwards, 0)])
def test_parts_start_at_aligned_elements_before_all_accesses(
    f: Callable[..., Any], last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = list[dict[int, shared_kernels.Part]]()
    pass_parts = linear_program.pass_parts

    def noted(calls: UOp, part_of: Sequence[dict[int, shared_kernels.Part]]) -> UOp:
        parts.extend(part_of)
        return pass_parts(calls, part_of)

    monkeypatch.setattr(linear_program, "pass_parts", noted)
    jit(f)(Tensor(numbers(40)), Tensor(numbers(400))).realize()
    begins = [begin for part in parts for begin, _ in part.values()]
    assert max(begins, default=0) == last and all(begin * 4 % shared_kernels.ALIGNMENT == 0 for begin in begins)


@pytest.mark.parametrize(("f", "x", "w"), PROGRAMS, ids=NAMES)
def test_tinygrad_runs_shared_kernels(f: Callable[..., Any], x: Any, w: Any) -> None:
    compiled = jit(f)
    expected = reads(compiled(Tensor(x), Tensor(w)))
    with Context(DEBUG=2):  # type: ignore[no-untyped-call]
        found = reads(compiled(Tensor(x), Tensor(w)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_step_of_a_loop_shares_kernels() -> None:
    x, w = numbers(24), numbers(24, 7) * 0.1

    def loop(x: Tensor, w: Tensor) -> Tensor:
        out: Tensor = scan(lambda c, _: (columns(c, w) / 100, None), x, None, length=3)[0]
        return out

    expected = x.astype(np.float64)
    for _ in range(3):
        for i in range(7):
            expected = expected * w[:, i] + expected.sum()
        expected = expected / 100
    np.testing.assert_allclose(jit(loop)(Tensor(x), Tensor(w)).numpy(), expected, rtol=1e-4)
    batch = jit(vmap(loop, in_axes=(0, None)))(Tensor(np.stack([x, x + 1])), Tensor(w))
    np.testing.assert_allclose(batch[0].numpy(), expected, rtol=1e-4)


def test_kernel_of_one_part_stays() -> None:
    out, x = (UOp.param(i, dtypes.float32, (100,), "CPU") for i in range(2))
    loop = UOp.range(8, 0)
    kernels = [out.index(loop).store(x.index(loop * 2 + i)).end(loop).sink() for i in (3, 5)]
    buffers = [UOp.new_buffer("CPU", 100, dtypes.float32) for _ in range(2)]
    for n, is_shared in ((1, False), (2, True)):
        calls = UOp(Ops.LINEAR, src=tuple(k.call(*buffers) for k in kernels[:n]))
        found, parts = shared_kernels.share_kernels(calls)
        assert any(parts) is is_shared and (found is not calls) is is_shared


def test_buffer_with_other_accesses_stays_whole() -> None:
    out, x, indices = (
        UOp.param(i, dtype, (100,), "CPU") for i, dtype in enumerate((dtypes.float32, dtypes.float32, dtypes.int32))
    )
    loop = UOp.range(8, 0)
    part = x.index(loop + 3)
    others = [x.index(indices.index(loop)), x.bitcast(dtypes.int32).index(loop).cast(dtypes.float32)]
    for value, is_part in ((part, True), *((part + other, False) for other in others)):
        kernel = out.index(loop).store(value).end(loop).sink()
        _, parts = shared_kernels._from_first_element(kernel)
        assert (1 in parts) is is_part


# ---- functions of slices ----


def rotations(angles: Tensor) -> Tensor:
    """Return a product of rotations by the angles, one kernel or more for each."""
    x = Tensor([1.0, 0.5])
    for i in range(int(angles.shape[0])):
        c, s = (angles[i] / 2).cos(), (angles[i] / 2).sin()
        x = Tensor.stack(Tensor.stack(c, -s), Tensor.stack(s, c)) @ x
    return x.sum()


def derivative(angles: Any) -> Any:
    """Return the gradient of `rotations`: all matrices commute, so only the sum of the angles counts."""
    a = angles.astype(np.float64).sum() / 2
    return np.full_like(angles, ((-np.sin(a) - 0.5 * np.cos(a)) + (np.cos(a) - 0.5 * np.sin(a))) / 2)


def test_buffer_that_is_read_outside_of_all_entries_stays_whole() -> None:
    x, y = (UOp.param(i, dtypes.float, (32,), "CPU") for i in range(2))
    kernel = UOp.sink(x.index(UOp.const(8)).store(y.index(UOp.invalid())))
    assert shared_kernels._from_first_element(kernel)[1].keys() == {0}


def test_sines_of_slices_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = note_kernels(monkeypatch)
    angles = numbers(4, 12)
    found = jit(vmap(grad(rotations)))(Tensor(angles)).numpy()
    np.testing.assert_allclose(found, np.stack([derivative(a) for a in angles]), rtol=1e-4, atol=1e-5)
    kernels = dict.fromkeys(call.src[0] for call in compiled)
    with_sine = [k for k in kernels if any(u.op is Ops.SIN for u in k.toposort())]
    assert 1 <= len(with_sine) <= 4 < len(kernels)


MOVES: dict[str, Callable[[Tensor], Sequence[Tensor]]] = {
    "rows": lambda x: [x[i] for i in range(6)],
    "columns": lambda x: [x[:, i] for i in range(6)],
    "transposed": lambda x: [x.T[i].flip(0) for i in range(6)],
    "reshaped": lambda x: [x.reshape(-1)[6 * i : 6 * i + 6] for i in range(6)],
    "broadcast": lambda x: [x[i, 0].expand(6) for i in range(6)],
    "the whole": lambda x: [x.reshape(6, 6)] * 6,
}
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Any], Any]]] = {
    "sine": (lambda x: (x * 0.5).sin(), lambda x: np.sin(x * 0.5)),
    "cosine": (lambda x: (1 - x).cos(), lambda x: np.cos(1 - x)),
    "exp": (lambda x: (x / 3).exp(), lambda x: np.exp(x / 3)),
}


@pytest.mark.parametrize(("move", "name"), pairs(list(MOVES), list(FUNCTIONS)))
def test_functions_of_slices_have_the_same_values(move: str, name: str) -> None:
    ours, numpy_function = FUNCTIONS[name]
    x = numbers(6, 6)

    def f(x: Tensor) -> Tensor:
        out = Tensor.ones(6)
        for part in MOVES[move](x):
            out = (out * ours(part)).contiguous() + 0.5
        return out

    expected = np.ones(6)
    for part in MOVES[move](Tensor(x)):
        expected = expected * numpy_function(part.numpy().astype(np.float64)) + 0.5
    np.testing.assert_allclose(jit(f)(Tensor(x)).numpy(), expected, rtol=2e-5)
    np.testing.assert_allclose(jit(vmap(f))(Tensor(x[None])).numpy()[0], expected, rtol=2e-5)


def test_functions_of_two_slices_have_the_same_values() -> None:
    def f(x: Tensor) -> Tensor:
        out = Tensor.ones(6)
        for i in range(5):
            out = (out * (x[i] * 2 + x[i + 1]).sin() + (x[i] * x[i + 1, 0]).sin()).contiguous()
        return out

    x, expected = numbers(6, 6), np.ones(6)
    for a, b in zip(x.astype(np.float64), x[1:].astype(np.float64), strict=False):
        expected = expected * np.sin(a * 2 + b) + np.sin(a * b[0])
    np.testing.assert_allclose(jit(f)(Tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_functions_of_slices_in_few_kernels_stay_there() -> None:
    x, y = Tensor(numbers(4)).realize(), Tensor(numbers(50)).realize()
    few, many = ([(x[i % 4].sin() * y).sum().uop for i in range(n)] for n in (2, 4))
    assert materialize_shared.materialize_shared_values(few) == few
    assert materialize_shared.materialize_shared_values(many) != many


def test_function_of_one_slice_is_not_stored_for_its_kernels() -> None:
    x = Tensor(numbers(6)).realize()
    sine = x.sin()
    values = [(sine * Tensor(numbers(6, seed=i)).realize()).sum().uop for i in range(4)]
    assert materialize_shared.materialize_shared_values(values) == values


def test_functions_of_parts_of_large_values_are_not_stored() -> None:
    for size, is_small in ((FEW // 8 * 8 - 8, True), (FEW // 8 * 8 + 8, False)):
        x = Tensor(numbers(size)).realize().reshape(8, -1)
        values = [x[i].sin().sum().uop for i in range(8)]
        assert (materialize_shared.materialize_shared_values(values) != values) is is_small


def test_unused_parts_are_not_computed() -> None:
    x = Tensor(numbers(60)).realize()
    values = [(x[i].sin() * y).sum() for i in range(3) for y in [Tensor(numbers(50, seed=i)).realize()]]
    us = [v.uop for v in values]
    assert materialize_shared.materialize_shared_values(us) == us  # three of 60 elements


def test_small_padded_sums_are_computed_once() -> None:
    x = Tensor(numbers(16, 40)).realize()
    total = sum((x[i].square().sum().reshape(1).pad(((i, 15 - i),)) for i in range(16)), Tensor.zeros(16))
    (found,) = materialize_shared.materialize_shared_values([total.uop])
    assert sum(u.op is Ops.CONTIGUOUS for u in found.toposort()) == 16
    np.testing.assert_allclose(jit(lambda: total)().numpy(), np.square(x.numpy()).sum(1), rtol=1e-5)
    assert not materialize_shared._padded_sums(list(x.sum(1).pad(((1, 1),)).uop.toposort()))


def test_equal_constants_share_their_memory() -> None:
    def f(x: Tensor) -> Tensor:
        for _ in range(3):
            x = x * Tensor([1.0, -1.0]) + Tensor([1, -1], dtype=dtypes.float32)
        return x

    compiled, sign = jit(f), Tensor([1.0, -1.0])
    np.testing.assert_array_equal(compiled(Tensor([2.0, 3.0])).numpy(), [5.0, -4.0])
    signed = jit(lambda x: x * sign + Tensor([1.0, -1.0]))
    np.testing.assert_array_equal(signed(Tensor([2.0, 3.0])).numpy(), [3.0, -4.0])
    sign.assign(Tensor([2.0, 2.0])).realize()
    np.testing.assert_array_equal(compiled(Tensor([2.0, 3.0])).numpy(), [5.0, -4.0])
