"""Our rewriting of graphs gives the same results as tinygrad's own loop, down to the source of kernels."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Context, Device, Tensor, dtypes
from tinygrad.uop import ops
from tinygrad.uop.ops import BottomUpGate, Ops, PatternMatcher, UOp, UPat, graph_rewrite

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import fast_rewrite

pytestmark = pytest.mark.enabled("cpu")

X, Y = UOp.param(0, dtypes.float, (), "CPU"), UOp.param(1, dtypes.float, (), "CPU")


@pytest.fixture
def by_tinygrad(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Evaluate a function with tinygrad's own loop."""

    def run(f: Callable[[], Any]) -> Any:
        with monkeypatch.context() as here:
            here.setattr(ops.PatternMatcher, "rewrite", getattr(fast_rewrite.rewrite, "__wrapped__"))  # noqa: B009
            original = getattr(fast_rewrite.unified_rewrite, "__wrapped__")  # noqa: B009
            here.setattr(ops.RewriteContext, "unified_rewrite", original)
            return f()

    return run


class _Nothing:
    """A compiler that produces nothing."""

    def compile_cached(self, source: str) -> bytes:
        return b""


def _sources() -> list[str]:
    """Return the C code of some programs: divided indices, conditions, sums, unrolled rows, sines."""
    x, y = (UOp.new_buffer("CPU", 360, dtypes.float32).reshape((6, 60)) for _ in range(2))
    t, w = Tensor(x), Tensor(y)
    outs = [
        (t.reshape(5, 8, 9).pad(((1, 0), (0, 2), (0, 0))).permute(2, 0, 1).flip(0)[1:, :, ::3] * 1.5).exp(),
        (t[:2].softmax() @ w[:3].T).tanh(),
        t.reshape(10, 1, 6, 6).conv2d(w[0, :18].reshape(2, 1, 3, 3)).sin(),
        (t.roll(3, 1) < w).where(w, t),
    ]
    renderer: Any = copy.copy(Device["CPU"].renderer)
    renderer.compiler = _Nothing()
    with Context(CACHELEVEL=0, SCACHE=0, PARALLEL=0):  # type: ignore[no-untyped-call]
        calls = [call.src[0] for out in outs for call in out.schedule_linear().src]
        programs = [private_api.codegen.do_to_program(u, renderer) for u in calls if u.op is Ops.SINK]
    return [s.arg for program in programs for s in program.src if s.op is Ops.SOURCE]


def test_kernels_match_those_of_tinygrad(by_tinygrad: Callable[[Callable[[], Any]], Any]) -> None:
    ours = _sources()
    assert ours == by_tinygrad(_sources) and len(ours) >= 5


def _log(matcher: Callable[[list[Any]], PatternMatcher], root: UOp, **options: Any) -> tuple[list[Any], Any]:
    """Return the order in which rules are tried, and the result."""
    asked: list[Any] = []
    try:
        return asked, graph_rewrite(root, matcher(asked), **options)
    except Exception as error:
        return asked, (type(error), str(error))


def _counting(asked: list[Any]) -> PatternMatcher:
    def less(u: UOp) -> UOp | None:
        asked.append(u)
        return u.replace(arg=u.arg - 1) if isinstance(u.arg, int) and u.arg > 0 else None

    return PatternMatcher([(UPat((Ops.CONST, Ops.ADD, Ops.MUL), name="u"), less)])


def _turning(asked: list[Any]) -> PatternMatcher:
    def turned(a: UOp, b: UOp) -> UOp:
        asked.append(a)
        return b + a

    return PatternMatcher([(UPat(Ops.ADD, src=(UPat.var("a"), UPat.var("b"))), turned)])


def _closed(asked: list[Any]) -> PatternMatcher:
    def stop(u: UOp) -> None:
        asked.append(u)
        raise BottomUpGate

    more = PatternMatcher([(UPat(Ops.CONST, name="u"), lambda u: u.replace(arg=u.arg + 1) if u.arg < 9 else None)])
    return PatternMatcher([(UPat(Ops.MUL, name="u"), stop)]) + more


@pytest.mark.parametrize(
    ("matcher", "root", "options"),
    [
        (_counting, (X * 3 + 2) * (X * 3 + 1) + 2, {}),
        (_counting, (X * 3 + 2) * (X * 3 + 1) + 2, {"bottom_up": True}),
        (_turning, X + Y, {"bottom_up": True}),
        (_closed, (X * 3 + 2) + (X + 2) * 4, {"bottom_up": True}),
        (_closed, (X * 3 + 2) + (X + 2) * 4, {}),
        (_counting, UOp.sink(X + 3).call(X * 2 + 1), {}),
        (_counting, UOp.sink(X + 3).call(X * 2 + 1), {"enter_calls": True}),
    ],
)
def test_rules_are_tried_on_the_same_operations(
    by_tinygrad: Callable[[Callable[[], Any]], Any], matcher: Any, root: UOp, options: dict[str, Any]
) -> None:
    ours, result = _log(matcher, root, **options)
    asked, expected = by_tinygrad(lambda: _log(matcher, root, **options))
    assert ours and result == expected and sorted(map(id, ours)) == sorted(map(id, asked))
    assert ours == asked or not options.get("bottom_up")  # rules after the operands may be tried in another order


def test_endless_rules_are_stopped(by_tinygrad: Callable[[Callable[[], Any]], Any]) -> None:
    with Context(REWRITE_STACK_LIMIT=200):  # type: ignore[no-untyped-call]
        asked, found = _log(_turning, X + Y)
        assert found == by_tinygrad(lambda: _log(_turning, X + Y)[1])
    assert found == (RuntimeError, "infinite loop in graph_rewrite (stack too big)") and len(asked) < 250


def test_sums_of_matchers_try_the_rules_in_order() -> None:
    asked = list[str]()

    def rule(name: str, op: Ops) -> tuple[UPat, Callable[..., None]]:
        return UPat(op, name="u"), lambda u: asked.append(name)

    first = PatternMatcher([rule("a", Ops.ADD), rule("b", Ops.MUL)])
    joined = first + PatternMatcher([rule("c", Ops.ADD), rule("d", Ops.CONST)])
    for u in (X + Y, X * Y, UOp.const(1.0)):
        assert joined.rewrite(u) is None
    assert asked == ["a", "c", "b", "d"] and len(joined.patterns) == 4


def _kernels() -> list[UOp]:
    """Return the linear programs of some kernels: of one index and of two, with and without loops and gates."""
    t, w = Tensor(X.expand((6, 60))), Tensor(UOp.new_buffer("CPU", 360, dtypes.float32).reshape((6, 60)))
    outs = [t + w, w.sum(1), w[:2] @ w[3:].T, w.T.pad(((1, 0), (0, 2))).exp(), w.gather(1, (w > 0).int())]
    with Context(CACHELEVEL=0, SCACHE=0, PARALLEL=0):  # type: ignore[no-untyped-call]
        calls = [call.src[0] for out in outs for call in out.schedule_linear().src]
        programs = [private_api.codegen.to_program(k, Device["CPU"].renderer) for k in calls if k.op is Ops.SINK]
    return [program.src[1] for program in programs]


def test_operations_are_sorted_as_by_tinygrad() -> None:
    original = getattr(UOp.toposort, "__wrapped__")  # noqa: B009
    deep = X
    for i in range(3000):
        deep = deep * Y + i
    for root in (X, X + X, X * Y + X, deep, *_kernels()):
        assert list(root.toposort()) == list(original(root))
        assert list(root.toposort(lambda u: u.op is not Ops.MUL)) == list(original(root, lambda u: u.op is not Ops.MUL))


def test_estimates_are_those_of_tinygrad() -> None:
    found = set[Any]()
    for kernel in _kernels():
        for ignored in (False, True):
            estimates = private_api.Estimates.from_uops(kernel.src, ignored)
            assert estimates == getattr(private_api.Estimates.from_uops, "__wrapped__")(kernel.src, ignored)  # noqa: B009
            found.add(estimates.ops)
    assert len(found) > 5


def test_simplified_indices_are_cached_per_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    i, tried = UOp.range(12, 0), list[UOp]()
    index = ((i * 8 + 3) // 4 + i * 5).simplify
    original = fast_rewrite._bind_rules

    def applied(matcher: Any, ctx: Any) -> Callable[[UOp], UOp | None]:
        rule = original(matcher, ctx)

        def noted(u: UOp) -> UOp | None:
            tried.append(u)
            return rule(u)

        return noted

    monkeypatch.setattr(fast_rewrite, "_bind_rules", applied)

    def twice() -> tuple[UOp, int, UOp, int]:
        tried.clear()
        first, once = index(), len(tried)
        return first, once, index(), len(tried) - once

    first, once, again, more = twice()
    assert first is again and once == more > 5
    assert fast_rewrite.with_known_results(twice)() == (first, once, first, 0)
    assert fast_rewrite._here.known() is None and twice()[3] == once


def test_index_rules_depend_only_on_the_operation() -> None:
    for matcher in (private_api.sym, private_api.pm_drop_and_clauses, private_api.pm_lower_weak):
        assert fast_rewrite._is_of_indices(matcher)
        for _, f in matcher.patterns:
            assert "ctx" not in f.__code__.co_varnames[: f.__code__.co_argcount] and not f.__closure__
    assert not fast_rewrite._is_of_indices(private_api.pm_split_ranges)


def _with_option(folder: Path, **option: str) -> str:
    program = (
        "import branded; from tinygrad import Tensor; from tinygrad.uop import ops\n"
        "(Tensor([1.0, 2.0]).realize() * 2.625 + 7).tolist()\n"
        "print(sum(len(one.matches) for group in ops.tracked_ctxs for one in group) > 20,"
        " len(getattr(ops, 'replay_capture', [])) > 0)\n"
        "ops.replay_capture = []"  # captured kernels are not written to the disk cache
    )
    env = {**os.environ, "DEV": "CPU", "TMPDIR": str(folder), **option}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    return done.stdout.split("\n")[0] or done.stderr


def test_recording_options_still_record(tmp_path: Path) -> None:
    assert _with_option(tmp_path, VIZ="-1") == "True False"
    assert _with_option(tmp_path, CAPTURE_PROCESS_REPLAY="1") == "False True"
