"""Compilation of tinygrad's patterns to Python functions in one pass.

tinygrad generates a matching function for each pattern at its first use. It builds a graph of the conditions and
rewrites it with patterns, which takes five times as long as compiling the function. In each process, that is a fifth of
the first call of a program. Here the conditions are written directly, in the same order.

Python's own compilation of a function costs 0.15 ms, as much as fifty interpretations of a pattern. Most patterns are
used less often in a process, and are interpreted. The functions that a process compiles are cached at its exit,
in tinygrad's database of compiled kernels, for the next process. They are stored by their source text, so an entry
cannot be out of date.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib.util
import itertools
import marshal
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api

OFTEN = 32
"""The number of uses after which a pattern is compiled."""
MOST = 32
"""The maximum number of alternatives of a pattern that are written out."""
_CALL = "(found := own({})) is not None"

TABLE = "branded_patterns"
"""The table of the compiled functions in tinygrad's database; each installation and version of Python has one row."""
FILE = f"{__file__}:patterns"
"""The file name of the functions, by which `branded.errors.source` tells them from user code."""
_KEY = f"{FILE} {importlib.util.MAGIC_NUMBER.hex()}"
KEPT = 2048
"""The maximum number of functions in memory, and of those in the database."""


class _TooLong(Exception):
    """Raised for a pattern that is left to tinygrad, for example because of too many alternatives."""


class _Way(NamedTuple):
    """One alternative of a pattern: its conditions in order, and the locations of its named operations."""

    conditions: list[str]
    names: dict[str, str]

    def take(self, other: _Way) -> None:
        """Require both alternatives; the same name must refer to the same UOp."""
        self.conditions.extend(other.conditions)
        for name, expr in other.names.items():
            if (first := self.names.setdefault(name, expr)) != expr:
                self.conditions.append(f"{first} is {expr}")


class _Conditions:
    """The conditions of a pattern: `common` for all alternatives, and one alternative from each of `choices`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.common = values, _Way([], {})
        self.choices: list[list[_Way]] = []

    def value(self, x: Any) -> str:
        self.values[name := f"v{len(self.values)}"] = x
        return name

    def add(self, p: Any, expr: str, is_known: bool = False) -> None:
        """Add the conditions for `expr` to match `p`; skip its operation if patterns are looked up by it."""
        if p.is_any:
            self.choose([[(x, expr)] for x in p.src[0]])
            return
        put = self.common.conditions.append
        if p.op is not None and not is_known:
            put(
                f"{expr}.op == {p.op[0].value}"
                if len(p.op) == 1
                else f"{expr}.op in {self.value(tuple(map(int, p.op)))}"
            )
        if p.arg is not None:
            put(f"{expr}.arg == {int(p.arg) if isinstance(p.arg, int) else self.value(p.arg)}")
        if p.strict_length or p.required_len > 0:
            put(f"len({expr}.src) {'==' if p.strict_length else '>='} {p.required_len}")
        if p.name is not None:
            self.common.take(_Way([], {p.name: expr}))
        for api_name, wanted in (("dtype", p.match_dtype), ("tag", p.match_tag)):
            if wanted is not None:
                one = len(wanted) == 1
                put(f"{expr}.{api_name} {'==' if one else 'in'} {self.value(wanted[0] if one else tuple(wanted))}")
        if p.src is not None:
            self.operands(p.src, expr)

    def operands(self, src: Sequence[Any], expr: str) -> None:
        if isinstance(src[0], itertools.repeat):
            conditions = _Conditions(self.values)
            conditions.add(next(src[0]), x := f"x{len(self.values)}")
            if conditions.choices or conditions.common.names:
                raise _TooLong
            if conditions.common.conditions:
                every = " and ".join(conditions.common.conditions)
                self.common.conditions.append(f"all([{every} for {x} in {expr}.src])")
        elif len(src) == 1:
            for i, x in enumerate(src[0]):
                self.add(x, f"{expr}.src[{i}]")
        else:
            self.choose([[(x, f"{expr}.src[{i}]") for i, x in enumerate(xs)] for xs in src])

    def choose(self, among: Sequence[Sequence[tuple[Any, str]]]) -> None:
        """Require all conditions of one group in `among`."""
        ways: list[_Way] = []
        for pairs in among:
            group = _Conditions(self.values)
            for p, expr in pairs:
                group.add(p, expr)
            ways += [_merge_ways(group.common, *rest) for rest in group.ways()]
        self.choices.append(ways)

    def ways(self) -> list[tuple[_Way, ...]]:
        combinations = list(itertools.islice(itertools.product(*self.choices), MOST + 1))
        if len(combinations) > MOST:
            raise _TooLong
        return combinations


def _merge_ways(*ways: _Way) -> _Way:
    out = _Way([], {})
    for way in ways:
        out.take(way)
    return out


def match_body(p: Any, has_ctx: bool) -> tuple[str, dict[str, Any]]:
    """Return the body of the function that matches a pattern, and the values that it uses."""
    all_ = _Conditions({})
    all_.add(p, "uop", True)
    lines: list[str] = []
    if all_.common.conditions:
        lines.append(f"  if not ({' and '.join(all_.common.conditions)}): return None")
    for rest in all_.ways():
        way = _merge_ways(*rest, _Way([], all_.common.names))
        arguments = [*(["ctx=ctx"] if has_ctx else []), *(f"{name}={expr}" for name, expr in way.names.items())]
        lines.append(f"  if {' and '.join([*way.conditions, _CALL.format(', '.join(arguments))])}: return found")
    return "\n".join([*lines, "  return None"]), all_.values


def function(body: str) -> str:
    return f"def compiled_match(uop, ctx):\n{body}"


_new: dict[str, CodeType] = {}
"""The functions that this process has compiled, by their bodies."""


def load_kept() -> dict[str, CodeType]:
    """Return the functions in the database by their bodies, or none if the database does not exist or is damaged."""
    if not Path(private_api.CACHEDB).is_file():
        return {}
    try:
        functions = marshal.loads(private_api.helpers.diskcache_get(TABLE, _KEY) or b"")
    except Warning:
        raise  # a warning about the database, which is disabled from now on
    except Exception:
        return {}
    return functions if isinstance(functions, dict) else {}


_kept = functools.cache(load_kept)


def keep_new() -> None:
    """Add the new functions to the database, if it exists, and drop the oldest; ignore a database that is read-only."""
    if not _new or not Path(private_api.CACHEDB).is_file():
        return
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
        functions = {**load_kept(), **_new}  # another process may have added others
        newest = dict(itertools.islice(functions.items(), max(len(functions) - KEPT, 0), None))
        private_api.helpers.diskcache_put(TABLE, _KEY, marshal.dumps(newest))


@functools.lru_cache(maxsize=KEPT)  # many patterns differ only in the function that they call
def _compile_body(body: str) -> CodeType:
    if (stored := _kept().get(body)) is not None:
        return stored
    space: dict[str, Any] = {}
    exec(compile(function(body), FILE, "exec"), space)
    code: CodeType = space["compiled_match"].__code__
    if len(_new) < KEPT:
        _new[body] = code
    return code


@dataclass(eq=False)
class _Rule:
    """A pattern with its function, which is interpreted at first, and compiled when it is used often."""

    pattern: Any
    own: Callable[..., UOp | None]
    has_ctx: bool
    by_tinygrad: Callable[[Any, Any], FunctionType | None]
    """tinygrad's compilation, for patterns that are too long for ours."""
    uses: int = 0
    function: FunctionType = field(init=False)

    def match(self, uop: UOp, ctx: Any) -> UOp | None:
        self.uses = uses = self.uses + 1  # of two threads, one compiles
        if uses == OFTEN:
            self._compile()
        context = {"ctx": ctx} if self.has_ctx else {}
        for names in self.pattern.match(uop, {}):
            if (found := self.own(**context, **names)) is not None:
                return found
        return None

    def _compile(self) -> None:
        """Replace the code of the function, to which all tables of rules refer."""
        try:
            body, values = match_body(self.pattern, self.has_ctx)
            code = _compile_body(body)
        except _TooLong:
            if (compiled := self.by_tinygrad(self.pattern, self.own)) is None:
                return
            code, values = compiled.__code__, compiled.__globals__
        self.function.__globals__.update(values, own=self.own)
        self.function.__code__ = code


rule: _Rule
"""A global of each copy of the next function."""


def _interpret(uop: UOp, ctx: Any) -> UOp | None:
    return rule.match(uop, ctx)  # noqa: F821  a global of its copies


def _compile_again() -> None:
    """Let all rules be compiled at their next use: those that tinygrad compiled have copies of the names they use."""
    for rules in gc.get_objects():
        if isinstance(rules, private_api.ops.PatternMatcher):
            fresh = private_api.ops.PatternMatcher(rules.patterns)
            rules.pdict = fresh.pdict


def install() -> None:
    original = private_api.upat.upat_compile
    if original.cache_info().currsize:
        _compile_again()

    @functools.cache
    def upat_compile(self: Any, fxn: Any) -> Any:
        code = fxn.__code__
        has_ctx = "ctx" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        rule = _Rule(self, fxn, has_ctx, original)
        rule.function = FunctionType(_interpret.__code__, {"rule": rule})
        return rule.function

    private_api.upat.upat_compile = upat_compile
    atexit.register(keep_new)
