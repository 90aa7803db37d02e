"""Static fields of dataclasses and NamedTuples, which are no leaves: `name: Annotated[str, static]`.

mypy drops the metadata of `Annotated`, so the fields are found in the source and kept in the module's symbol table.
mypy stores the table in its cache.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from mypy.nodes import SymbolTableNode, TypeInfo, Var
from mypy.types import UnboundType

from branded.mypy.analysis.source.syntax import nodes_of

STATIC = "branded@static"
"""The name of the list of fields. mypy's daemon keeps names with an `@` when it analyzes a file again."""

_MARK = re.compile(rb"""\bstatic(\s*[]),=#]|["'])""")
"""The mark of a static field: `Annotated[str, static]`, `static=True`, `{"static": True}`."""

Lookup = Callable[[str], SymbolTableNode | None]
_lookup: list[Lookup] = []


def use_lookup(lookup: Lookup) -> None:
    """Find modules by this function of the plugin."""
    _lookup[:] = [lookup]


def find_static_fields(text: bytes) -> str:
    """Return the static fields of the classes in a source text, separated by spaces."""
    try:
        return " ".join(_find_fields(ast.parse(text))) if _MARK.search(text) else ""
    except (SyntaxError, ValueError):  # mypy reports it
        return ""


def static_fields(info: TypeInfo) -> set[str]:
    """Return the names of the static fields of a dataclass or a NamedTuple."""
    names = set[str]()
    for c in info.mro:
        symbol = _lookup[0](f"{c.module_name}.{STATIC}") if _lookup else None
        node = symbol.node if symbol is not None else None
        fields = node.type.name.split() if isinstance(node, Var) and isinstance(node.type, UnboundType) else []
        cls = c.name.split("@")[0]  # a class in a function is called "Layer@12"
        names |= {field.removeprefix(f"{cls}.") for field in fields if field.startswith(f"{cls}.")}
    return names


def _find_fields(tree: ast.Module) -> Iterator[str]:
    """Find the static fields of all classes, as `Layer.name`."""
    nodes = nodes_of(tree)
    marked = [n.targets for n in nodes if isinstance(n, ast.Assign) and _is_marked(n.value)]
    aliases = {_last_name(target) for targets in marked for target in targets}
    for cls in (n for n in nodes if isinstance(n, ast.ClassDef)):
        for n in cls.body:
            match n:
                case ast.AnnAssign(target=ast.Name(id=name)) if _is_marked(n.annotation, aliases) or _is_call(n.value):
                    yield f"{cls.name}.{name}"


def _is_marked(annotation: ast.expr, aliases: Collection[str] = ()) -> bool:
    """Return whether this is `Annotated[str, static]`, or an alias of it."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return False
    if not isinstance(annotation, ast.Subscript):
        return False
    marks = annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    name = _last_name(annotation.value)
    return name in aliases or (name == "Annotated" and any(_last_name(m) == "static" for m in marks))


def _is_call(value: ast.expr | None) -> bool:
    """Return whether this is `field(metadata={"static": True})` or `field(static=True)`."""
    keywords = {k.arg: k.value for k in value.keywords} if isinstance(value, ast.Call) else {}
    match keywords.get("metadata"):
        case ast.Dict(keys=keys, values=values):
            given = {k.value: v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
        case ast.Call(keywords=of_dict):
            given = {k.arg: k.value for k in of_dict}
        case _:
            given = {"static": v} if (v := keywords.get("static")) is not None else {}
    return isinstance(v := given.get("static"), ast.Constant) and v.value is True


def _last_name(e: ast.expr) -> str:
    return e.id if isinstance(e, ast.Name) else e.attr if isinstance(e, ast.Attribute) else ""
