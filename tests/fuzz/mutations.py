"""Small changes of a file, which `make mutants` applies to the package one at a time."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Key = tuple[str, str, str, str]


class Mutant(NamedTuple):
    file: str
    function: str
    was: str
    now: str
    line: int
    number: int
    """The index of the mutant within its file."""

    @property
    def key(self) -> Key:
        return self[:4]


COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
CALLED = {"all": "any", "any": "all", "min": "max", "max": "min"}
UNWRAPPED = {"sorted", "reversed"}
AS_GIVEN = {"cast", "isinstance", "getattr", "rule", "tangent"}
"""Functions whose arguments are not swapped: a swap would be unrealistic or have no effect."""


def expressions(e: ast.expr, is_test: bool) -> Iterator[ast.expr]:
    """Yield the possible replacements of an expression."""
    match e:
        case ast.Compare(left, [op], right):
            yield ast.Compare(left, [COMPARED[type(op)]()], right)
        case ast.Constant(bool(x)):
            yield ast.Constant(not x)
        case ast.Constant(int(x) | float(x)):
            yield ast.Constant(x + 1)
        case ast.BoolOp(op, [*parts]):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), parts)
            for i in range(len(parts)):
                rest = parts[:i] + parts[i + 1 :]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not(), x):
            yield x
        case ast.UnaryOp(ast.USub(), x):
            yield x
        case ast.BinOp(left, ast.BitOr(), right):
            yield from (left, right)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED and not isinstance(left, ast.Constant | ast.JoinedStr):
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call(f, args, keywords):
            name = f.id if isinstance(f, ast.Name) else ""
            if name in CALLED:
                yield ast.Call(ast.Name(CALLED[name]), args, keywords)
            if name in UNWRAPPED and len(args) == 1:
                yield args[0]
            for i, (a, b) in enumerate(itertools.pairwise(args)):
                if type(a) is type(b) and ast.dump(a) != ast.dump(b) and name not in AS_GIVEN:
                    yield ast.Call(f, [*args[:i], b, a, *args[i + 2 :]], keywords)
            for i, k in enumerate(keywords):
                if k.arg not in ("strict", "fix"):
                    yield ast.Call(f, args, keywords[:i] + keywords[i + 1 :])
    if is_test and not isinstance(e, ast.UnaryOp | ast.Compare):
        yield ast.UnaryOp(ast.Not(), e)


def statements(s: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the possible replacements of a statement."""
    match s:
        case ast.Return(ast.expr() as x) if not isinstance(x, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Constant()):
            return  # a docstring
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.Expr() | ast.AugAssign():
            yield ast.Pass()
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()


def header(s: ast.stmt) -> str:
    """Return a statement without the statements inside of it."""
    empty = {
        f: [ast.Pass()] if f == "body" else [] for f in ("body", "orelse", "handlers", "finalbody") if hasattr(s, f)
    }
    if isinstance(s, ast.Match):
        empty = {"cases": [ast.match_case(c.pattern, c.guard, [ast.Pass()]) for c in s.cases]}
    new = type(s)(**{**dict(ast.iter_fields(s)), **empty})
    text = ast.unparse(ast.fix_missing_locations(ast.copy_location(new, s)))
    return re.sub(r"\n\s*pass$", "", text) if empty else text


def is_skipped(s: ast.AST, function: str) -> bool:
    """Return whether a node is not worth mutating: typing, imports, or a check that correct code never needs."""
    match s:
        case ast.keyword("strict"):
            return True
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.Import() | ast.ImportFrom() | ast.Assign([ast.Name("__all__")]):
            return True
        case ast.FunctionDef(decorator_list=[ast.Name("overload"), *_]):
            return True
        case ast.Assign([ast.Name()], ast.Subscript() | ast.BinOp() | ast.Call(ast.Name("TypeVar" | "ParamSpec"))):
            return not function
    return False


def mutants(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a file, in source order."""
    return _mutants(file, source, None)[0]


def mutated(m: Mutant, source: str) -> str:
    """Return the text of the file with the mutant."""
    return _mutants(m.file, source, m.number)[1]


def _mutants(file: str, source: str, wanted: int | None) -> tuple[list[Mutant], str]:
    tree = ast.parse(source)
    found: list[Mutant] = []
    text = ""

    def note(slot: Any, key: Any, old: ast.AST, new: ast.AST, function: str, around: ast.stmt) -> None:
        def put(x: ast.AST) -> None:
            if isinstance(slot, list):
                slot[key] = x
            else:
                setattr(slot, key, x)

        nonlocal text
        was = header(around) if wanted is None else ""
        put(ast.fix_missing_locations(ast.copy_location(new, old)))
        now = "" if wanted is not None else ast.unparse(new) if isinstance(old, ast.stmt) else header(around)
        if wanted == len(found):
            text = ast.unparse(tree)
        found.append(Mutant(file, function, was, now, around.lineno, len(found)))
        put(old)

    def visit(node: ast.AST, function: str, around: ast.stmt | None) -> None:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            many = isinstance(value, list)
            for i, child in enumerate(value if many else [value]):
                if not isinstance(child, ast.AST) or is_skipped(child, function):
                    continue
                slot, key = (value, i) if many else (node, field)
                inside, here = function, child if isinstance(child, ast.stmt) else around
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    inside = f"{function}.{child.name}" if function else child.name
                if isinstance(child, ast.stmt):
                    for new in statements(child):
                        note(slot, key, child, new, function, child)
                elif isinstance(child, ast.expr) and here is not None:
                    is_test = field in ("test", "ifs")
                    for e in expressions(child, is_test and not isinstance(node, ast.IfExp | ast.Assert)):
                        note(slot, key, child, e, function, here)
                visit(child, inside, here)

    visit(tree, "", None)
    return found, text


def name_of(qualname: str) -> str:
    """Return the name of a function as in `mutants`: lambdas and comprehensions count as their enclosing function."""
    return re.sub(r"\.<locals>", "", re.sub(r"(\.<locals>)?\.<(?!locals)\w+>", "", qualname))
