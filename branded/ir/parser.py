"""Parsing text into typed programs: the inverse of `Printer`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, TypeVar

from branded.core.tracing.recorded_calls import HOLE
from branded.errors import ProgramError, ProgramTypeError
from branded.ir.terms import Atom, BrandName, Dtype, Eqn, Literal, Program, Rule, Type, Var
from branded.tree import describe

_TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*)*(?:
      (?P<number>-?(?:inf|nan|\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?![\w.]))
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<rule><[^<>]*>)
    | (?P<dots>\.\.\.)
    | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    | (?P<sign>[][{}();:,.=|])
    )""",
    re.VERBOSE,
)

T = TypeVar("T")


def read(source: str) -> Program:
    """Parse a program: `read(text(p))` is `p`, except for source locations and for rules that text cannot express."""
    if not isinstance(source, str):
        raise ProgramTypeError(f"read: {describe(source)} is not a text", fix="pass text that str(expr) printed")
    try:
        return _Reader(source).whole()
    except RecursionError:
        pass
    raise ProgramError("read: programs or brackets are nested too deeply", fix="pass text that str(expr) printed")


class _Reader:
    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.tokens: list[tuple[str, str, int]] = []
        i, end = 0, len(source.rstrip())  # a comment is skipped
        while i < end:
            m: re.Match[str] = _TOKEN.match(source, i) or self._fail(i)
            kind = str(m.lastgroup)
            self.tokens.append((kind, m[kind], m.start(kind)))
            i = m.end()
        self.vars: dict[str, Var] = {}

    def _fail(self, i: int, wanted: str = "") -> Any:
        line = self.source.count("\n", 0, i) + 1
        column = i - (self.source.rfind("\n", 0, i) + 1)
        rest = self.source[i:].split("\n")[0].strip()[:30] or "the end"
        raise ProgramError(
            f"read: syntax error: {rest!r} at line {line}, column {column + 1}",
            *([("wanted", wanted)] if wanted else []),
            fix="pass text that str(expr) printed",
        )

    # tokens

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at][:2] if self.at < len(self.tokens) else ("end", "")

    def next(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def fail(self, wanted: str) -> Any:
        position = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.source)
        return self._fail(position, wanted)

    def take(self, token: str) -> None:
        if self.peek()[1] != token:
            self.fail(f"`{token}`")
        self.at += 1

    def has(self, token: str) -> bool:
        """Return whether this is the next token, and consume it if so."""
        if self.peek() in (("sign", token), ("name", token)):
            self.at += 1
            return True
        return False

    def until(self, end: str, item: Callable[[], T], separator: str = "") -> list[T]:
        """Return the items up to a token, each with an optional separator behind it."""
        items = []
        while not self.has(end):
            items.append(item())
            self.has(separator)
        return items

    def name(self, problem: str) -> str:
        kind, name = self.peek()
        if kind != "name":
            self.fail(problem)
        self.at += 1
        return name

    # the grammar

    def whole(self) -> Program:
        p = self.program()
        if self.peek()[0] != "end":
            self.fail("nothing more")
        return p

    def program(self) -> Program:
        self.take("{")
        self.take("lambda")
        constvars, invars = self.until(";", self.binder), self.until(".", self.binder)
        self.take("let")
        eqns = self.until("in", self.eqn)
        self.take("(")
        outs = []
        while not self.has(")"):
            outs.append(self.atom())
            if not self.has(",") and self.peek()[1] != ")":
                self.fail("`,` or `)`")
        self.take("}")
        return Program(constvars, invars, eqns, outs)

    def binder(self) -> Var:
        name = self.name("a variable")
        self.take(":")
        v = self.vars[name] = Var(self.type())
        return v

    def type(self) -> Type:
        if not self.has("Vec"):
            return self.per_example(())
        self.take("[")
        row = [self.brand()]
        while self.has("|"):
            row.append(self.brand())
        self.take(",")
        t = self.per_example(tuple(row))
        self.take("]")
        return t

    def per_example(self, row: tuple[BrandName, ...]) -> Type:
        dtype = self.name("a type")
        self.take("[")
        return Type(dtype, tuple(self.until("]", self.integer, ",")), row)

    def integer(self) -> int:
        kind, number = self.peek()
        if kind != "number" or not re.fullmatch(r"-?\d+", number):
            self.fail("an int")
        self.at += 1
        return int(self._literal_value(kind, number))

    def _literal_value(self, kind: str, token: str) -> Any:
        """Return the number or string of the last token."""
        try:
            return _parse_number(token) if kind == "number" else ast.literal_eval(token)
        except (SyntaxError, ValueError):  # too many digits for Python, or an invalid escape
            self.at -= 1
            return self.fail(f"a {kind} of Python")

    def brand(self) -> BrandName:
        name = self.name("a brand")
        self.take(":")
        return BrandName(name, self.integer())

    def eqn(self) -> Eqn:
        results = self.until("=", self.binder)
        op = self.name("an operation")
        params: dict[str, Any] = {}
        if self.has("["):
            while not self.has("]"):
                key = self.name("a parameter")
                self.take("=")
                params[key] = self.value()
                self.has(",")
        operands = []
        while self._at_operand():
            operands.append(self.atom())
        return Eqn(op, tuple(operands), params, tuple(results))

    def _at_operand(self) -> bool:
        """Return whether the next token is an operand; a name followed by a type begins the next equation."""
        kind, token = self.peek()
        if kind == "number" or token in ("True", "False"):
            return True
        after = self.tokens[self.at + 1][1] if self.at + 1 < len(self.tokens) else ""
        return kind == "name" and token in self.vars and after != ":" and token != "in"

    def atom(self) -> Atom:
        kind, token = self.next()
        if kind == "name" and token in self.vars:
            return self.vars[token]
        if token in ("True", "False"):
            return Literal(token == "True", "bool")
        if kind != "number":
            self.at -= 1
            self.fail("a variable or a number")
        value = self._literal_value(kind, token)
        dtype = self.name("a dtype") if self.has(":") else "float" if isinstance(value, float) else "int"
        return Literal(value, dtype)

    def value(self) -> Any:
        """Return the value of a parameter; a `:` in it makes a slice."""
        first = None if self.peek()[1] == ":" else self.single()
        if self.peek()[1] != ":":
            return first
        if isinstance(first, Dtype):
            self.take(":")
            return BrandName(first.name, self.integer())
        parts = [first]
        while self.has(":"):
            parts.append(None if self.peek()[1] in (":", ",", ")", "]") else self.single())
        return slice(*parts)

    def single(self) -> Any:
        kind, token = self.peek()
        if token == "{":
            return self.program()
        self.at += 1
        if kind in ("number", "string"):
            return self._literal_value(kind, token)
        if kind == "rule":
            return Rule(token[1:-1])
        if kind == "dots":
            return Ellipsis
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if kind == "name":
            return Dtype(token)
        if token in ("(", "["):
            items = self.until(")" if token == "(" else "]", self.value, ",")
            return tuple(items) if token == "(" else items
        self.at -= 1
        return self.fail("a value")


_CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False, "_": HOLE}


def _parse_number(token: str) -> int | float:
    return int(token) if re.fullmatch(r"-?\d+", token) else float(token)
