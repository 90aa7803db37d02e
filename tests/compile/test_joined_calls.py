"""A program computes each value once, also if several host calls read it, and equals the loop over the examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded import jit, scan, top_k, vmap
from branded.backends.cpu.runtime import native
from branded.compile import kernel_order
from tests.support.kernels import note_kernels

pytestmark = pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler")

PARTS: Sequence[Callable[[Tensor], Tensor]] = (
    lambda x: x.sort()[0],
    lambda x: x.argsort().float() * 0.1,
    lambda x: x.sort(descending=True)[0],
    lambda x: x.argsort(descending=True).float() * 0.1,
    lambda x: top_k(x, 6)[0].pad((0, 6)),
    lambda x: top_k(x, 6)[1].float().pad((0, 6)) * 0.1,
    lambda x: x + 1,
    lambda x: x * x.max(),
)


def program(seed: int) -> Callable[[Tensor], Tensor]:
    """Return a program that sorts few values in many ways, at different times, in steps of a loop or not."""
    r = np.random.default_rng(seed)
    plan = [(int(r.integers(len(PARTS))), int(r.integers(3))) for _ in range(6)]

    def once(x: Tensor) -> Tensor:
        values = [x * 2 - 1]
        for part, back in plan:
            values.append(PARTS[part](values[max(0, len(values) - 1 - back)]))
        out: Tensor = sum(values[1:], values[0])
        return out - out.mean()

    def loop(x: Tensor) -> Tensor:
        out: Tensor = scan(lambda c, _: (once(c) / 4, None), x, None, length=3)[0]
        return out

    return loop if seed % 2 else once


@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_a_program_equals_the_loop(seed: int) -> None:
    f = program(seed)
    x = np.random.default_rng(seed).integers(-3, 4, (5, 12)).astype(np.float32)
    want = np.stack([f(Tensor(row)).numpy() for row in x])
    compiled = jit(vmap(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(Tensor(x)).numpy(), want, rtol=1e-5, atol=1e-5)


def test_each_value_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = note_kernels(monkeypatch)

    def f(x: Tensor) -> tuple[Tensor, ...]:
        y = x.exp() + 1
        return *y.sort(), *y.topk(3), y.argsort(descending=True)

    x = np.random.default_rng(0).standard_normal((5, 12)).astype(np.float32)
    found = jit(vmap(f))(Tensor(x).realize())
    assert Counter(call.src[0].op for call in compiled) == Counter({Ops.SINK: 1, Ops.CUSTOM_FUNCTION: 3})
    for a, b in zip(found, [*vmap(f)(Tensor(x))], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def buffers(n: int) -> list[UOp]:
    return [UOp.new_buffer("CPU", 4, Tensor.ones(1).dtype) for _ in range(n)]


@pytest.mark.parametrize(("is_written", "kept"), [(False, 2), (True, 4)])
def test_a_value_changes_with_its_operands(is_written: bool, kept: int) -> None:
    """A kernel is not replaced by an equal one if another call writes to its operand in between."""
    kernel, other, reader = (UOp(Ops.SINK, src=(UOp.const(i, Tensor.ones(1).dtype),)) for i in range(3))
    x, a, b, out = buffers(4)
    change = [other.call(x)] if is_written else []
    calls = [kernel.call(a, x), *change, kernel.call(b, x), reader.call(out, a, b)]
    found = kernel_order.join_calls(calls, lambda call: [0])
    assert len(found) == kept
    assert found[-1].src[1:] == ((out, a, b) if is_written else (out, a, a))
