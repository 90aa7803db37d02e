"""The functions that match patterns agree with tinygrad's: the same matches, in the same order."""

from __future__ import annotations

import marshal
import os
import pickle
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop import upat
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, upat_interpret

from branded.tinygrad_compat import activation, private_api
from branded.tinygrad_compat.speed import pattern_compiler
from tests.support.met import met

pytestmark = pytest.mark.enabled("cpu")

Found = list[dict[str, UOp]]


def _some_kernels() -> None:
    x = Tensor.rand(3, 5)
    ((x @ x.T).softmax() * 1.37 + (x.exp() < 1.1).where(x, x[:, :1]).pad(((0, 0), (1, 0))).sum()).tolist()
    (Tensor.arange(14).reshape(2, 7).cast(dtypes.uint8) % 5 // 2).cumsum(0).tolist()


def _matches(text: str, values: dict[str, Any], us: Iterable[UOp], name: str = "own") -> list[Found]:
    """Return the matches that a function passes to the pattern's callback, which never accepts one."""
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
    """Compare both matchers on operations, and return the number of matches."""
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


def test_all_patterns_match_as_in_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_tinygrad_accepts_our_rules() -> None:
    """With BRANDED_PATCHES=-matching, tinygrad compiles our rules, and rejects closures."""
    activation.activate()
    tables = [r.ours for r in activation._scoped.values() if isinstance(r.ours, PatternMatcher)]
    assert len(tables) > 10
    assert [f for table in tables for _, f in table.patterns if f.__closure__ is not None] == []


def test_too_long_patterns_are_interpreted() -> None:
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


def test_often_used_patterns_are_compiled() -> None:
    x = UOp.param(0, dtypes.float, (2,), "CPU")

    def uses(p: UPat, own: Callable[..., UOp | None]) -> list[tuple[UOp | None, bool]]:
        match = upat.upat_compile(p, own)
        return [(match(u, 3), match.__code__.co_name == "compiled_match") for u in [x + x, x + 2] * 20]

    rules: list[Callable[..., UOp | None]] = [lambda a: a, lambda ctx, a: a if ctx == 3 else None]
    for own in rules:
        found = uses(UPat(Ops.ADD, src=(UPat.var("a"), UPat(Ops.CONST))), own)
        assert all(u is (x if i % 2 else None) for i, (u, _) in enumerate(found))
        assert [is_compiled for _, is_compiled in found] == [i + 1 >= pattern_compiler.OFTEN for i in range(40)]
    long = UPat.any(*[UPat(Ops.ADD, src=[UPat(Ops.MUL), UPat.var("a")]) for _ in range(20)])
    assert uses(UPat(Ops.ADD, src=(long, long)), lambda a: a)[-1] == (None, True), "tinygrad compiles it"


# ---- functions that another process compiled ----

PROGRAM = """
import branded
from branded.tinygrad_compat.speed import pattern_compiler
from tinygrad import Context, Tensor

with Context(PARALLEL=0):
    print(branded.vmap(lambda a: (a.exp() / {by}).sum())(Tensor([[0.0, 0.0], [0.0, 0.0]])).tolist())
print(len(pattern_compiler._new))
"""


def _begin(cache: Path, by: float = 2, **env: str) -> subprocess.Popen[str]:
    variables = {**os.environ, "CACHEDB": str(cache), "DEV": "CPU", **env}
    command = [sys.executable, "-c", PROGRAM.format(by=by)]
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Return the printed values, and the number of compiled functions."""
    out, err = process.communicate()
    assert process.returncode == 0 and not err, err
    numbers, compiled = out.splitlines()
    return numbers, int(compiled)


def _row(cache: Path) -> tuple[str, bytes]:
    with closing(sqlite3.connect(cache)) as connection, connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'branded_patterns%'").fetchone()
        ((kept,),) = connection.execute(f"SELECT val FROM '{table}'").fetchall()
    return table, pickle.loads(kept)


def test_other_process_reuses_functions(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    together = [_end(process) for process in [_begin(cache, by) for by in (2, 2, 4)]]
    assert [numbers for numbers, _ in together] == ["[1.0, 1.0]", "[1.0, 1.0]", "[0.5, 0.5]"]
    assert all(compiled > 20 for _, compiled in together)
    assert _end(_begin(cache, 8)) == ("[0.25, 0.25]", 0)
    table, kept = _row(cache)
    functions = marshal.loads(kept)
    assert len(functions) > 20
    for body, code in functions.items():
        assert code == getattr(pattern_compiler._compile_body, "__wrapped__")(body)  # noqa: B009
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute(f"UPDATE '{table}' SET val = ?", (pickle.dumps(kept[:1000]),))
    assert _end(_begin(cache, 16))[1] > 20, "what is damaged is compiled again"
    assert _end(_begin(cache, 32)) == ("[0.0625, 0.0625]", 0)
    assert _end(_begin(cache, 32, CACHELEVEL="0"))[1] > 20


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """Replace the database by a dict."""
    kept: dict[str, bytes] = {}
    helpers = private_api.helpers
    (tmp_path / "cache.db").touch()
    monkeypatch.setattr(helpers, "CACHEDB", str(tmp_path / "cache.db"))
    monkeypatch.setattr(helpers, "diskcache_get", lambda table, key: kept.get(key))
    monkeypatch.setattr(helpers, "diskcache_put", lambda table, key, value: kept.update({key: value}))
    monkeypatch.setattr(pattern_compiler, "_new", {})
    return kept


BODIES = [f"  return {i}" for i in range(5)]
CODES = {body: compile(pattern_compiler.function(body), "", "exec") for body in BODIES}


def test_oldest_functions_are_dropped(database: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_compiler, "KEPT", 3)
    for bodies, kept in ((BODIES[:2], BODIES[:2]), (BODIES[2:4], BODIES[1:4]), ([], BODIES[1:4])):
        monkeypatch.setattr(pattern_compiler, "_new", {body: CODES[body] for body in bodies})
        pattern_compiler.keep_new()
        assert list(pattern_compiler.load_kept()) == kept
    assert len(database) == 1


def test_functions_create_no_database(database: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_compiler, "_new", CODES)
    Path(private_api.CACHEDB).unlink()
    pattern_compiler.keep_new()
    assert not database and pattern_compiler.load_kept() == {}


def test_read_only_database_is_ignored(
    database: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    def put(table: str, key: str, value: bytes) -> None:
        warnings.warn("read-only", RuntimeWarning, stacklevel=2)
        raise sqlite3.OperationalError("read-only")

    monkeypatch.setattr(pattern_compiler, "_new", CODES)
    monkeypatch.setattr(private_api.helpers, "diskcache_put", put)
    pattern_compiler.keep_new()
    assert not recwarn


@pytest.mark.parametrize("kept", [b"", b"none", marshal.dumps([1]), 3])
def test_invalid_table_of_functions_is_ignored(database: dict[str, Any], kept: object) -> None:
    database[pattern_compiler._KEY] = kept
    assert pattern_compiler.load_kept() == {}
