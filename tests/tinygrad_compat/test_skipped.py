"""Rewrites of kernels are skipped only where they change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import AddrSpace, graph_rewrite
from branded.tinygrad_compat.speed import fast_rewrite, skipped_rewrites

PROGRAMS: dict[str, tuple[Callable[[], Tensor], int]] = {
    "columns": (lambda: Tensor.empty(40, 30).sum(0), 0),
    "a row for all rows": (lambda: Tensor.empty(40, 30) + Tensor.empty(30), 1),
    "all entries": (lambda: Tensor.empty(40, 30).sum(), 0),
    "a part of each row": (lambda: Tensor.empty(40, 30)[:, :20].contiguous(), 1),
    "a transposed matrix": (lambda: Tensor.empty(40, 30).T.contiguous(), 1),
    "a product": (lambda: Tensor.empty(8, 16, 24) @ Tensor.empty(24, 16), 1),
    "padding": (lambda: Tensor.empty(8, 30).pad(((0, 0), (1, 1))), 0),
    "a convolution": (lambda: Tensor.empty(2, 3, 9, 9).conv2d(Tensor.empty(4, 3, 3, 3)), 6),
    "whole matrices": (lambda: Tensor.empty(6, 40, 30).contiguous() * 2, 0),
    "divided loops": (lambda: Tensor.arange(120).reshape(10, 12) // 7 + Tensor.empty(10, 12), 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_skipped_merges_add_divisions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped, divisions = 0, private_api.simplify.count_divmod

    def checked(u: UOp, rules: Any, ctx: Any = None, **options: Any) -> UOp:
        nonlocal skipped
        out = graph_rewrite(u, rules, ctx, **options)
        if options.get("name", "").startswith("check_merge_") and skipped_rewrites.adds_divisions(u, *ctx):
            assert divisions(out) > divisions(u) == 0
            skipped += 1
        return out

    monkeypatch.setattr(private_api.simplify, "graph_rewrite", checked)
    make, least = PROGRAMS[name]
    for call in make().schedule_linear().src:
        graph_rewrite(call.src[0], private_api.sym + private_api.pm_flatten_range, name="initial symbolic")
        graph_rewrite(call.src[0], private_api.codegen.pm_simplify_ranges, ctx={}, name="simplify ranges")
    assert skipped >= least


def test_barriers_stay_where_memory_is_shared() -> None:
    def barriers(where: AddrSpace) -> list[UOp]:
        buffer = UOp.placeholder((4,), dtypes.float32, 0, where)
        stored = buffer.after(buffer.index(UOp.const(0)).store(UOp.const(1.0, dtypes.float32)))
        sink = stored.index(UOp.const(1)).load().sink()
        rewrite = skipped_rewrites.without_needless_barriers(graph_rewrite)
        out = rewrite(sink, private_api.codegen.pm_implicit_barriers, name="add implicit barriers")
        assert where is AddrSpace.LOCAL or out is sink
        return [u for u in out.toposort() if u.op is Ops.BARRIER]

    assert len(barriers(AddrSpace.LOCAL)) == 1 and not barriers(AddrSpace.REG)


def test_buffers_with_one_write_are_not_searched_for() -> None:
    x, y, z, w = (UOp.new_buffer("CPU", 4, dtypes.float32) for _ in range(4))
    one = y.after(y.store(x + 1))
    half = z.shrink(((0, 2),)).store(one.shrink(((0, 2),)))
    twice = z.after(half).after(z.after(half).shrink(((2, 4),)).store(one.shrink(((2, 4),))))
    flipped = w.after(w.store(w.flip(0)))
    found = skipped_rewrites.find_written_once(UOp.sink(twice, flipped))
    assert found == {y, z}  # the second write to `z` has `z.after(half)` as its target
    for write in (y.store(x + 1), half):
        assert write.src[0].base not in write.src[1].toposort()


VALUES: dict[str, Callable[[Tensor], Tensor]] = {
    "a flip": lambda x: x.assign(x.flip(0)),
    "a sum of both ends": lambda x: x.assign(x + x.flip(0)),
    "a part of itself": lambda x: x[:2].assign(x[1:3] * 2),
    "a stored value": lambda x: x.assign((x * 2).contiguous().flip(0) + x),
    "two writes": lambda x: x.assign(x.flip(0)).assign(x.flip(0) + 1),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_that_read_their_buffer_are_stored_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> Any:
        x = Tensor([1.0, 2.0, 4.0, 8.0]).realize()
        VALUES[name](x).realize()
        return x.tolist()

    found = written()
    monkeypatch.setattr(skipped_rewrites, "_is_written_once", lambda base: False)
    assert found == written()


def _variable(i: int) -> UOp:
    return UOp.variable(f"v{i}", 0, 9)


A, B, C, D = map(_variable, range(4))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {A: A},
        {A: D},
        {A: B, B: C},
        {A: D, A + B: C},
        {A: D, D + B: C},
        {A: D, B: D * 2},
        {A + B: A},
        {C * 3: D, A: UOp.const(2)},
    ],
)
def test_substitutions_match_those_of_tinygrad(parts: dict[UOp, UOp]) -> None:
    graph = ((A + B) * C * 3 + (A + B) // 4) % 7 + B
    original = inspect.unwrap(UOp.substitute)
    assert original is not UOp.substitute
    assert graph.substitute(parts) is original(graph, parts)


def test_guarded_indices_are_simplified_once_for_all_kernels() -> None:
    asked = list[UOp]()

    def uop_given_valid(valid: UOp, uop: UOp, try_simplex: bool) -> UOp:
        asked.append(uop)
        return uop

    given = skipped_rewrites.once_for_all_kernels(uop_given_valid)
    kernels = fast_rewrite.with_known_results(lambda: [given(A < 3, A + B) for _ in range(2)])
    assert kernels() == [A + B] * 2 and len(asked) == 1
    given(A < 4, A + B)
    given(A < 4, A + B)
    assert len(asked) == 3
