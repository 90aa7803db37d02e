"""The functions that match patterns are those of tinygrad: they find the same, in the same order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop import upat
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, upat_interpret

from branded.patches import matching
from tests.met import met

Found = list[dict[str, UOp]]


def _some_kernels() -> None:
    x = Tensor.rand(3, 5)
    ((x @ x.T).softmax() * 1.37 + (x.exp() < 1.1).where(x, x[:, :1]).pad(((0, 0), (1, 0))).sum()).tolist()
    (Tensor.arange(14).reshape(2, 7).cast(dtypes.uint8) % 5 // 2).cumsum(0).tolist()


def _matches(text: str, values: dict[str, Any], us: Iterable[UOp], name: str = "own") -> list[Found]:
    """What a function that matches gives to the pattern's own, which is never content."""
    now: Found = []
    space = {**values, name: lambda **given: now.append(given)}
    exec(text, space)
    out = []
    for u in us:
        space["compiled_match"](u, None)
        out.append(list(now))
        now.clear()
    return out


def _same(p: UPat, us: Iterable[UOp]) -> int:
    """How often the pattern matches, both ways."""
    some = [u for u in us if p.op is None or u.op in p.op]
    ours = _matches(*matching.written(p, False), some)
    by_tinygrad = upat._get_code(p, False)
    theirs = [p.match(u, {}) for u in some] if by_tinygrad is None else _matches(*by_tinygrad, some, "_fxn")
    assert [list(map(_ids, found)) for found in ours] == [list(map(_ids, found)) for found in theirs], p
    return sum(map(len, ours))


def _ids(match: dict[str, UOp]) -> list[tuple[str, int]]:
    return sorted((name, id(u)) for name, u in match.items())


def test_all_patterns_match_as_they_do_in_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    us = met(monkeypatch, _some_kernels)
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("tinygrad") and m is not None]
    matchers = [x for m in modules for x in vars(m).values() if isinstance(x, PatternMatcher)]
    patterns = list(dict.fromkeys(p for m in matchers for p, _ in m.patterns))
    written = []
    for p in patterns:
        try:
            matching.written(p, False)
        except matching._TooLong:
            continue
        written.append(p)
    assert len(written) > 0.98 * len(patterns) > 500
    counts = [_same(p, us[:: max(len(us) // 1500, 1)]) for p in written]
    assert sum(n > 0 for n in counts) > 200


A, B, C, D = (UPat.var(name) for name in "abcd")


@pytest.mark.parametrize(
    ("p", "times"),
    [
        (UPat(Ops.ADD, src=[A, B]), 2),
        (UPat(Ops.ADD, src=(A, A)), 0),
        (UPat(Ops.ADD, src=[UPat(Ops.MUL, src=[A, B]), UPat(Ops.MUL, src=[A, C])]), 2),
        (UPat(Ops.ADD, src=(UPat.any(A, UPat(Ops.MUL, src=(A, B))), UPat.any(UPat(Ops.MUL, src=[C, D]), C))), 6),
        (UPat(Ops.ADD, src=UPat(Ops.MUL)), 1),
        (UPat(Ops.ADD, src=(A,), allow_any_len=True), 1),
        (UPat(Ops.ADD, dtype=dtypes.int, src=(A, B)), 0),
        (UPat(Ops.ADD, dtype=(dtypes.int, dtypes.float), src=(A, B), name="c"), 1),
    ],
)
def test_choices_are_tried_in_order(p: UPat, times: int) -> None:
    x, y, z = (UOp.param(i, dtypes.float, (2,), "CPU") for i in range(3))
    u = (x * y) + (x * z)
    assert _same(p, [u]) == times


def test_what_cannot_be_written_down_is_interpreted() -> None:
    def fails(p: UPat) -> Callable[[UOp, Any], Any]:
        with pytest.raises(matching._TooLong):
            matching.written(p, False)
        made = upat.upat_compile(p, lambda a: a) or upat_interpret(p, lambda a: a)
        assert callable(made)
        return made

    assert upat.upat_compile.__module__ == matching.__name__
    x = UOp.param(0, dtypes.float, (2,), "CPU")
    assert fails(UPat(Ops.ADD, src=UPat.var("a")))(x + x, None) is x
    many = UPat(Ops.ADD, src=[UPat(Ops.ADD, src=[A, UPat(Ops.ADD, src=[UPat.var(), UPat(Ops.MUL)])])] * 2)
    assert matching.written(many, False)
    p = UPat.any(*[UPat(Ops.ADD, src=[UPat(Ops.CONST), UPat.var("a")]) for _ in range(20)])
    fails(UPat(Ops.MUL, src=(p, p)))
