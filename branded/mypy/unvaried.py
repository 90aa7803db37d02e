"""Batches that were closed over: results in which nothing varies, and parameters that are not used."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterable
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import Context, Expression, LambdaExpr, MemberExpr, NameExpr
from mypy.options import Options
from mypy.types import Instance, LiteralType, NoneType, TupleType, Type, TypeAliasType, get_proper_type

from branded.mypy.codes import ERROR
from branded.mypy.leaves import NUMBERS
from branded.mypy.opening import fail, show
from branded.mypy.rows import Brand, change, is_shared
from branded.mypy.walking import walk

SECTION, KEY = "branded", "unvaried"
CHOICES = ("note", "error", "off")


def choice(options: Options) -> str:
    """What the user wants: `unvaried = error` in `[branded]` of mypy.ini, or in `[tool.branded]` of a toml file."""
    path = Path(options.config_file) if options.config_file else None
    if path is None or not path.is_file():
        return CHOICES[0]
    if path.suffix == ".toml":
        given = tomllib.loads(path.read_text()).get("tool", {}).get(SECTION, {}).get(KEY)
    else:
        parser = configparser.RawConfigParser()
        parser.read(path)
        given = parser.get(SECTION, KEY, fallback=None)
    return given if given in CHOICES else CHOICES[0]


def goes_below(f: Expression) -> bool:
    """Does a lambda take values apart, `x.uop`?  Then no type says what its result depends on."""
    return isinstance(f, LambdaExpr) and any(isinstance(p, MemberExpr) and p.name == "uop" for p in walk(f.body))


def tell(inside: Type, args: Iterable[Type], brand: Brand, at: Context, api: TypeChecker, how: str) -> None:
    """Say that a result is the same for all examples, if it is sure to be."""
    rows = _rows(inside)
    if how == "off" or not rows or any(brand in row for row in rows) or not all(map(_rows, args)):
        return
    name = show(brand, api)
    message = f'vmap: nothing of the result varies over "{name}", so it is repeated for each example'
    fix = "out_axes=None; out_axes=0 if it is to be repeated"
    if how == "error":
        fail(api, at, ERROR, message, f'value: "{show(inside, api)}"', f"try:   {fix}")
    else:
        api.note(f"{message}; try: {fix}", at, code=ERROR)


def tell_of_batch(f: Expression, args: Iterable[tuple[Expression | None, Type]], at: Context, api: TypeChecker) -> bool:
    """Say that a lambda uses a batch and not its example: `vmap(lambda x, y: x - ys)(xs, ys)`.

    `args` are the arguments with their axes.  The result is whether it was said.
    """
    if not isinstance(f, LambdaExpr):
        return False
    used = [e for e in walk(f.body) if isinstance(e, NameExpr)]
    for parameter, (given, way) in zip(f.arguments, args, strict=False):
        batch = given.node if isinstance(given, NameExpr) else None
        if batch is None or is_shared(way) or any(e.node is parameter.variable for e in used):
            continue
        if any(e.node is batch for e in used) and isinstance(given, NameExpr):
            name, fix = parameter.variable.name, "None for it in in_axes if all examples share it"
            note = f"vmap: the function does not use `{name}`, and uses `{given.name}`, which has those of all examples"
            api.note(f"{note}; try: `{name}`, or {fix}", at, code=ERROR)
            return True
    return False


def _rows(t: Type) -> list[list[Brand]]:
    """The rows of the tensors of a tree; none if it has parts that may hide some."""
    rows: list[list[Brand]] = []
    certain = True

    def look(row: list[Brand]) -> list[Brand]:
        rows.append(row)
        return row

    def leaf(t: Type) -> Type:
        nonlocal certain
        p = get_proper_type(t)
        p = p.fallback if isinstance(p, LiteralType) else p
        certain &= isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)
        return t

    for item in _items(t):
        change(item, look, leaf=leaf)
    return rows if certain else []


def _items(t: Type) -> list[Type]:
    """What stands in tuples; mypy keeps what the items have in common beside them."""
    if isinstance(t, TypeAliasType) and t.is_recursive:
        return [t]
    t = get_proper_type(t)
    return [i for item in t.items for i in _items(item)] if isinstance(t, TupleType) else [t]
