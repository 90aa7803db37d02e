"""Compilation of tinygrad's patterns to Python functions in one pass.

tinygrad generates a matching function for each pattern at its first use. It builds a graph of the conditions and
rewrites it with patterns, which takes five times as long as compiling the function. In each process, that is a fifth of
the first call of a program. Here the conditions are written directly, in the same order.

`patterns.py` has the functions for tinygrad's own patterns, found by their source text. Python compiles it when the
package is installed or first used. `python -m tests.patterns` generates it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from branded.tinygrad_compat import private_api

MOST = 32
"""The maximum number of alternatives of a pattern that are written out."""
_CALL = "(found := own({})) is not None"

FILE = Path(__file__).with_name("patterns.py")
"""The functions of tinygrad's own patterns."""
_HEAD = "def {}(uop, ctx):"


class _TooLong(Exception):
    """Raised for a pattern that is left to tinygrad, for example because of too many alternatives."""


class _Way(NamedTuple):
    """One alternative of a pattern: its conditions in order, and the locations of its named operations."""

    conditions: list[str]
    names: dict[str, str]

    def take(self, other: _Way) -> None:
        """Require both alternatives; the same name must refer to the same UOp."""
        self.conditions.extend(other.conditions)
        for name, at in other.names.items():
            if (first := self.names.setdefault(name, at)) != at:
                self.conditions.append(f"{first} is {at}")


class _Conditions:
    """The conditions of a pattern: `common` for all alternatives, and one alternative from each of `choices`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.common = values, _Way([], {})
        self.choices: list[list[_Way]] = []

    def value(self, x: Any) -> str:
        self.values[name := f"v{len(self.values)}"] = x
        return name

    def add(self, p: Any, at: str, is_known: bool = False) -> None:
        """Add the conditions for `at` to match `p`; skip its operation if patterns are looked up by it."""
        if p.is_any:
            self.choose([[(x, at)] for x in p.src[0]])
            return
        put = self.common.conditions.append
        if p.op is not None and not is_known:
            put(f"{at}.op == {p.op[0].value}" if len(p.op) == 1 else f"{at}.op in {self.value(tuple(map(int, p.op)))}")
        if p.arg is not None:
            put(f"{at}.arg == {int(p.arg) if isinstance(p.arg, int) else self.value(p.arg)}")
        if p.strict_length or p.required_len > 0:
            put(f"len({at}.src) {'==' if p.strict_length else '>='} {p.required_len}")
        if p.name is not None:
            self.common.take(_Way([], {p.name: at}))
        for api_name, wanted in (("dtype", p.match_dtype), ("tag", p.match_tag)):
            if wanted is not None:
                one = len(wanted) == 1
                put(f"{at}.{api_name} {'==' if one else 'in'} {self.value(wanted[0] if one else tuple(wanted))}")
        if p.src is not None:
            self.operands(p.src, at)

    def operands(self, src: Sequence[Any], at: str) -> None:
        if isinstance(src[0], itertools.repeat):
            of = _Conditions(self.values)
            of.add(next(src[0]), x := f"x{len(self.values)}")
            if of.choices or of.common.names:
                raise _TooLong
            if of.common.conditions:
                every = " and ".join(of.common.conditions)
                self.common.conditions.append(f"all([{every} for {x} in {at}.src])")
        elif len(src) == 1:
            for i, x in enumerate(src[0]):
                self.add(x, f"{at}.src[{i}]")
        else:
            self.choose([[(x, f"{at}.src[{i}]") for i, x in enumerate(xs)] for xs in src])

    def choose(self, among: Sequence[Sequence[tuple[Any, str]]]) -> None:
        """Require all conditions of one group in `among`."""
        found: list[_Way] = []
        for pairs in among:
            of = _Conditions(self.values)
            for p, at in pairs:
                of.add(p, at)
            found += [_merge_ways(of.common, *rest) for rest in of.ways()]
        self.choices.append(found)

    def ways(self) -> list[tuple[_Way, ...]]:
        found = list(itertools.islice(itertools.product(*self.choices), MOST + 1))
        if len(found) > MOST:
            raise _TooLong
        return found


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
        given = [*(["ctx=ctx"] if has_ctx else []), *(f"{name}={at}" for name, at in way.names.items())]
        lines.append(f"  if {' and '.join([*way.conditions, _CALL.format(', '.join(given))])}: return found")
    return "\n".join([*lines, "  return None"]), all_.values


def name(text: str) -> str:
    """Return the name of the function with this body."""
    return f"m{hashlib.blake2b(text.encode(), digest_size=10).hexdigest()}"


def function(text: str, named: str = "compiled_match") -> str:
    return f"{_HEAD.format(named)}\n{text}"


@functools.cache
def load_code() -> Mapping[str, CodeType]:
    """Return the compiled functions of `FILE`, or none if Python cannot cache them: compiling takes too long."""
    cached = importlib.util.cache_from_source(str(FILE))
    if not Path(cached).exists() and (sys.dont_write_bytecode or not os.access(FILE.parent, os.W_OK)):
        return {}
    try:
        module = importlib.machinery.SourceFileLoader(FILE.stem, str(FILE)).get_code(FILE.stem)
    except (ImportError, OSError, SyntaxError):
        return {}
    return {code.co_name: code for code in module.co_consts if isinstance(code, CodeType)} if module else {}


@functools.lru_cache(maxsize=2048)  # many patterns differ only in the function that they call
def _compile_body(text: str) -> CodeType:
    if (found := load_code().get(name(text))) is not None:
        return found
    space: dict[str, Any] = {}
    exec(
        compile(function(text), str(FILE), "exec"), space
    )  # the file name lets `branded.errors.source` tell it from user code
    code: CodeType = space["compiled_match"].__code__
    return code


def install() -> None:
    original: Callable[[Any, Any], Any] = private_api.upat.upat_compile

    @functools.cache
    def upat_compile(self: Any, fxn: Any) -> Any:
        code = fxn.__code__
        try:
            text, space = match_body(self, "ctx" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        except _TooLong:
            return original(self, fxn)
        space["own"] = fxn
        return FunctionType(_compile_body(text), space)

    private_api.upat.upat_compile = upat_compile
