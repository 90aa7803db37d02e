"""The functions that match patterns are those of tinygrad: they find the same, in the same order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop import upat
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, upat_interpret

from branded.tinygrad_compat.speed import pattern_compiler
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
    body, values = pattern_compiler.match_body(p, False)
    ours = _matches(pattern_compiler.function(body), values, some)
    by_tinygrad = upat._get_code(p, False)
    theirs = [p.match(u, {}) for u in some] if by_tinygrad is None else _matches(*by_tinygrad, some, "_fxn")
    assert [list(map(_ids, found)) for found in ours] == [list(map(_ids, found)) for found in theirs], p
    return sum(map(len, ours))


def _ids(match: dict[str, UOp]) -> list[tuple[str, int]]:
    return sorted((name, id(u)) for name, u in match.items())


def _of_tinygrad() -> list[PatternMatcher]:
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("tinygrad") and m is not None]
    return [x for m in modules for x in vars(m).values() if isinstance(x, PatternMatcher)]


def test_all_patterns_match_as_they_do_in_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    us = met(monkeypatch, _some_kernels)
    patterns = list(dict.fromkeys(p for m in _of_tinygrad() for p, _ in m.patterns))
    written = []
    for p in patterns:
        try:
            pattern_compiler.match_body(p, False)
        except pattern_compiler._TooLong:
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
        with pytest.raises(pattern_compiler._TooLong):
            pattern_compiler.match_body(p, False)
        made = upat.upat_compile(p, lambda a: a) or upat_interpret(p, lambda a: a)
        assert callable(made)
        return made

    assert upat.upat_compile.__module__ == pattern_compiler.__name__
    x = UOp.param(0, dtypes.float, (2,), "CPU")
    assert fails(UPat(Ops.ADD, src=UPat.var("a")))(x + x, None) is x
    many = UPat(Ops.ADD, src=[UPat(Ops.ADD, src=[A, UPat(Ops.ADD, src=[UPat.var(), UPat(Ops.MUL)])])] * 2)
    assert pattern_compiler.match_body(many, False)
    p = UPat.any(*[UPat(Ops.ADD, src=[UPat(Ops.CONST), UPat.var("a")]) for _ in range(20)])
    fails(UPat(Ops.MUL, src=(p, p)))


def _functions() -> dict[str, str]:
    text = pattern_compiler.FILE.read_text("utf-8")
    return dict(re.findall(r"^def (m\w+)\(uop, ctx\):\n(.*?)(?:\n\n|\n\Z)", text, re.M | re.S))


OF_OTHER_DEVICES = {"tinygrad.renderer.ptx", "tinygrad.runtime.support.usb"}
"""Modules that are there when tinygrad has looked for a device, which it does where `DEV` names none."""


def test_the_file_has_the_functions_of_tinygrads_patterns() -> None:
    """`python -m tests.patterns` writes it anew."""
    found = _functions()
    assert len(found) > 400 and all(pattern_compiler.name(body) == name for name, body in found.items())
    for p, f in {rule: None for m in _of_tinygrad() for rule in m.patterns}:
        if not f.__module__.startswith("tinygrad") or f.__module__ in OF_OTHER_DEVICES:
            continue
        try:
            body, _ = pattern_compiler.match_body(p, "ctx" in f.__code__.co_varnames[: f.__code__.co_argcount])
        except pattern_compiler._TooLong:
            continue
        assert pattern_compiler.name(body) in found, p


def test_the_functions_of_the_file_are_those_of_their_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name, body = max(_functions().items(), key=lambda item: len(item[1]))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    kept = getattr(pattern_compiler.load_code, "__wrapped__")  # noqa: B009
    assert kept() == {}  # to compile all of them in each process takes longer than those that it needs
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    there = kept()
    assert len(there) > 400 and list(tmp_path.rglob("patterns*.pyc"))
    monkeypatch.setattr(pattern_compiler, "load_code", dict)
    by_text = getattr(pattern_compiler._compile_body, "__wrapped__")(body)  # noqa: B009
    assert there[name].co_code == by_text.co_code
    monkeypatch.setattr(pattern_compiler, "FILE", tmp_path / "patterns.py")
    assert kept() == {}
