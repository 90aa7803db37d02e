"""Results in which nothing varies: they would be repeated for each example; most often a batch was closed over."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterable
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import Context
from mypy.options import Options
from mypy.types import Instance, LiteralType, NoneType, Type, get_proper_type

from branded.mypy.leaves import NUMBERS
from branded.mypy.opening import ERROR, fail, show
from branded.mypy.rows import Brand, change

SECTION, KEY = "branded", "unvaried"
CHOICES = ("note", "error", "off")


def choice(options: Options) -> str:
    """What the user wants to be told: `unvaried = error` in `[branded]` of mypy.ini, `[tool.branded]` of a toml file."""
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


def tell(inside: Type, args: Iterable[Type], brand: Brand, at: Context, api: TypeChecker, how: str) -> None:
    """Say that a result is the same for all examples, if it is sure to be."""
    rows = _rows(inside)
    if how == "off" or not rows or any(brand in row for row in rows) or not all(map(_rows, args)):
        return
    name = show(brand, api)
    message = f'vmap: nothing of the result varies over "{name}", so it is repeated for each example'
    fix = "out_axes=None; out_axes=0 if it is to be repeated"
    if how == "error":
        fail(api, at, message, f'value: "{show(inside, api)}"', f"try:   {fix}")
    else:
        api.note(f"{message}; try: {fix}", at, code=ERROR)


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

    change(t, look, leaf=leaf)
    return rows if certain else []
