"""`branded check --suggest`: suggest names for the axes of a file's data, and show the mistakes that they would reveal.

The names come from the variables that contain lengths: the table `Tensor.zeros(n_users, n_features)` has the axes
`Users` and `Features`. The file is analyzed with these names instead of the lengths.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from mypy import build
from mypy.checker import TypeChecker
from mypy.errors import CompileError
from mypy.fscache import FileSystemCache
from mypy.nodes import AssignmentStmt, Context, Expression, FuncDef, MypyFile, NameExpr, TypeInfo
from mypy.types import CallableType, Instance, Type, TypeVarId, TypeVarType, get_proper_type

from branded.mypy.analysis.source.walk import walk
from branded.mypy.axes.types import axis_length, is_named
from branded.mypy.check import PLUGIN, read_options
from branded.mypy.deferred import DeferredPlugin
from branded.mypy.rows.algebra import BRAND, TENSOR
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.shapes.execute import Interpreter
from branded.mypy.shapes.other_files import path_of
from branded.mypy.shapes.values import Arguments, Const, Fact, Function, Shaped, as_number, join

_PREFIXES = ("n_", "num_", "number_of_", "len_")


class NamedConst(Const, parts="value axis"):
    """An int in a variable, with the axis that is named after the variable."""

    def __init__(self, value: int, axis: Type) -> None:
        super().__init__(value)
        self.axis = axis


class _NamedAxes(Interpreter):
    """Analyzes a file with axes that are named after the variables of their lengths."""

    shares = False

    def __init__(self, api: TypeChecker, scope: OpenBrands) -> None:
        super().__init__(api, scope)
        self.data: dict[AssignmentStmt, Shaped] = {}
        self.signatures: dict[FuncDef, tuple[tuple[Fact, ...], Fact]] = {}
        self.brands = [i for i in _classes(api.tree) if any(c.fullname == BRAND for c in i.mro)]

    def assign(self, target: Expression, value: Fact) -> None:
        n = as_number(value)
        if isinstance(target, NameExpr) and n is not None and n > 1 and not isinstance(value, NamedConst):
            value = NamedConst(n, self._axis(target.name))
        super().assign(target, value)

    def _axis(self, variable: str) -> Type:
        stem = next((variable.removeprefix(p) for p in _PREFIXES if variable.startswith(p)), variable)
        words = "".join(w[:1].upper() + w[1:].lower() for w in stem.split("_")) if len(stem) > 1 else stem.upper()
        brands_with_name = [b for b in self.brands if b.name.lower() == words.lower()]
        brands_with_name = brands_with_name or [b for b in self.brands if len(words) == 1 and b.name.startswith(words)]
        if len(brands_with_name) == 1:
            return Instance(brands_with_name[0], [])
        place = TypeVarId(-1, namespace=f"branded@named@{words}")
        return TypeVarType(words, f"branded, named axis {words}", place, [], self.scope.instance(BRAND), ANY_AXIS)

    def _assignment(self, s: AssignmentStmt) -> None:
        super()._assignment(s)
        target = s.lvalues[0]
        names = [e for e in walk(s.rvalue) if isinstance(e, NameExpr)]
        creates_tensor = any(map(_is_tensor, names)) and all(e.name != "as_axes" for e in names)
        if isinstance(target, NameExpr) and target.node is not None and creates_tensor:
            value = self.frame.lookup(target.node)
            if isinstance(value, Shaped) and value.axes and any(map(is_named, value.axes)):
                self.data.setdefault(s, value)

    def _run_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        result = super()._run_function(f, given, at)
        is_whole = self.inside == 0 and at is not f.node and isinstance(f.node, FuncDef) and not f.bound
        is_whole = is_whole and path_of(f.node) is None
        if is_whole and isinstance(f.node, FuncDef) and not given.keywords:
            values = tuple(given.positional)
            previous = self.signatures.get(f.node)
            if previous is not None and len(previous[0]) == len(values):
                values, result_type = tuple(map(join, previous[0], values)), join(previous[1], result)
            else:
                result_type = result
            self.signatures[f.node] = values, result_type
        return result


def _classes(tree: MypyFile) -> Iterable[TypeInfo]:
    return (s.node for s in tree.names.values() if isinstance(s.node, TypeInfo))


def _is_tensor(e: NameExpr) -> bool:
    return isinstance(e.node, TypeInfo) and e.node.fullname == TENSOR


def _axis_text(axis: Type, unnamed: str) -> str:
    if isinstance(axis, TypeVarType) and is_named(axis):
        return axis.name
    if isinstance(axis, Instance):
        return axis.type.name
    n = axis_length(axis)
    return unnamed if n is None else str(n) if unnamed == "None" else f"Literal[{n}]"


def suggestions(api: TypeChecker, scope: OpenBrands) -> list[str]:
    """Return the lines to print for a file."""
    tree, named, plain = api.tree, _NamedAxes(api, scope), Interpreter(api, scope)
    named.run()
    plain.run()
    name, text = Path(tree.path).name, Path(tree.path).read_text(encoding="utf-8").splitlines()
    out = []
    for s, value in named.data.items():
        target = s.lvalues[0]
        assert isinstance(target, NameExpr)
        source = text[s.line - 1][s.rvalue.column : s.rvalue.end_column] if s.rvalue.end_line == s.line else "..."
        entries = ", ".join(_axis_text(a, "None") for a in value.axes or ())
        out.append(f"{name}:{s.line}: {target.name} = as_axes({source}, {entries})")
    for f, (values, result) in named.signatures.items():
        out += [f"{name}:{f.line}: {line}" for line in _signature(f, values, result)]
    axes = [a for v in named.data.values() for a in v.axes or () if isinstance(a, TypeVarType) and is_named(a)]
    new = [f"class {n}(Brand): ..." for n in dict.fromkeys(a.name for a in axes)]
    known = {f.at.line for f in plain.findings.values()}
    found = [f for f in named.findings.values() if f.at.line not in known and not f.is_note]
    mistakes = [line for f in found for line in (f"{name}:{f.at.line}: {f.message}", *(f"  {n}" for n in f.notes))]
    if not out:
        return [
            f"{name}: no axis has a name to suggest",
            "  try:   use variables for the lengths: Tensor.zeros(n_users, 3)",
        ]
    heading = "with these names mypy finds:" if mistakes else "with these names mypy finds no other mistake"
    return [*new, *out, "", heading, *mistakes]


def _signature(f: FuncDef, values: Sequence[Fact], result: Fact) -> list[str]:
    t = f.type
    if not isinstance(t, CallableType) or len(t.arg_types) < len(values):
        return []
    parameters = [
        f"{name}: {_axes(value)}"
        for name, declared, value in zip(t.arg_names, t.arg_types, values, strict=False)
        if _is_bare(declared) and _has_name(value)
    ]
    returned = f" -> {_axes(result)}" if _is_bare(t.ret_type) and _has_name(result) else ""
    return [f"def {f.name}({', '.join(parameters)}){returned}"] if parameters else []


def _is_bare(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == TENSOR


def _has_name(value: Fact) -> bool:
    return isinstance(value, Shaped) and any(map(is_named, value.axes or ()))


def _axes(value: Fact) -> str:
    entries = [_axis_text(a, "int") for a in value.axes or ()] if isinstance(value, Shaped) else []
    return f"Axes[{', '.join(entries)}]"


def suggest(paths: Sequence[str]) -> str:
    """Suggest names for the axes of the data in files.

    Args:
        paths: Files, and any options of mypy.

    Returns:
        The text to print.

    Example:
        >>> import tempfile, pathlib
        >>> from branded.mypy.shapes.suggest import suggest
        >>> folder = tempfile.TemporaryDirectory()
        >>> program = pathlib.Path(folder.name, "app.py")
        >>> _ = program.write_text('''
        ... from tinygrad import Tensor
        ... from branded import vmap
        ... n_users, n_items = 3, 3
        ... X = Tensor.zeros(n_users, 2)
        ... Y = Tensor.zeros(n_items, 2)
        ... scores = vmap(lambda x, y: (x * y).sum())(X, Y)
        ... ''')
        >>> print(suggest([str(program)]))
        class Users(Brand): ...
        class Items(Brand): ...
        app.py:5: X = as_axes(Tensor.zeros(n_users, 2), Users, 2)
        app.py:6: Y = as_axes(Tensor.zeros(n_items, 2), Items, 2)
        <BLANKLINE>
        with these names mypy finds:
        app.py:7: vmap: `Users` is zipped with `Items`
          argument 1: shape (Users, 2), axis 0
          argument 2: shape (Items, 2), axis 0
          try:   use in_axes=None for a shared argument, or nest two vmaps for all pairs
        >>> folder.cleanup()
    """
    cache = FileSystemCache()
    sources, options = read_options(paths, cache, "branded check")
    options.plugins = [p for p in options.plugins if p != PLUGIN]
    options.cache_dir = str(Path(options.cache_dir, "branded"))
    plugin = DeferredPlugin(options)
    scope = plugin.create().scope
    lines: dict[str, list[str]] = {}
    scope.followed = lambda api: lines.__setitem__(api.tree.path, suggestions(api, scope))
    read = [build.BuildSource(s.path, s.module, Path(s.path or "").read_text(), s.base_dir) for s in sources]
    try:
        result = build.build(read, options, None, lambda *_: None, cache, io.StringIO(), io.StringIO(), [plugin])
        result.manager.metastore.close()
    except CompileError as error:
        return "\n".join(error.messages)
    texts = ["\n".join(lines[s.path]) for s in sources if s.path in lines]
    return "\n\n".join(texts) or "no file uses vmap"
