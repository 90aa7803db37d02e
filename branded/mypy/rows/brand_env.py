"""`OpenBrands`: the brands that are open at the code being checked; fresh brands; and the reporting of errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorInfo, Errors, ErrorWatcher
from mypy.messages import format_type_bare
from mypy.nodes import (
    CallExpr,
    Context,
    Expression,
    FuncDef,
    LambdaExpr,
    MypyFile,
    Node,
    RefExpr,
    StrExpr,
    SymbolTableNode,
    TypeInfo,
    WithStmt,
)
from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    Type,
    TypeOfAny,
    TypeVarId,
    TypeVarType,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source.walk import walk
from branded.mypy.codes import CARRY, ERROR, NAME_TAKEN, OPERAND, OPTION, READ, SHAPE, WRITE, is_brand_code
from branded.mypy.rows.algebra import BRAND, UNKNOWN, Brand, Change, row_variables, rows_in
from branded.mypy.rows.consequences import hide_consequences

AnyContext = AttributeContext | FunctionContext | FunctionSigContext | MethodContext | MethodSigContext
PlainCall = Callable[[FunctionSigContext | MethodSigContext, Node | None], CallableType | None]
"""The signature for a call with batched arguments of a function of tensors; None for other functions."""


def checker(ctx: AnyContext) -> TypeChecker:
    """Return the type checker of a hook's context."""
    assert isinstance(ctx.api, TypeChecker)
    return ctx.api


def fail(api: TypeChecker, context: Context, code: ErrorCode, message: str, *notes: str) -> None:
    """Report an error, followed by notes with the facts and the suggested fix."""
    api.fail(message, context, code=code)
    for note in notes:
        api.note(f"  {note}", context, code=code)


_trials: list[ErrorWatcher] = []
times_told = [0]
"""The number of calls of `fail_at_once`, which mypy's error watchers do not see."""


class _Trial:
    """A block whose errors are suppressed; mypy's watcher collects them. `contextmanager` takes three times as long."""

    __slots__ = ("watcher",)

    def __init__(self, api: TypeChecker) -> None:
        self.watcher = api.msg.filter_errors(save_filtered_errors=True)

    def __enter__(self) -> ErrorWatcher:
        errors = self.watcher.__enter__()
        _trials.append(errors)
        return errors

    def __exit__(self, *raised: Any) -> None:
        _trials.pop()
        self.watcher.__exit__(*raised)


trying = _Trial


@contextmanager
def past_watchers(errors: Errors, first: int = 0) -> Iterator[None]:
    """Report errors inside the block past the watchers from `first` on."""
    watchers = errors._watchers
    passed = watchers[first:]
    del watchers[first:]
    try:
        yield
    finally:
        watchers.extend(passed)


ONE_PLACE = {CARRY, READ, OPERAND, SHAPE, WRITE}
"""The codes of errors about a value; a body that is checked for several calls reports each place once."""


ErrorPlace = tuple[int, int, ErrorCode | None, str]


def place_of(e: ErrorInfo) -> ErrorPlace:
    return _place(e.line, e.column, e.code, e.message)


def _place(line: int, column: int, code: ErrorCode | None, message: str) -> ErrorPlace:
    """Return the position of our errors: one that begins at the same position is about the same call, or a part of it.

    Errors of mypy at one position may be about several operands of an expression.
    """
    return (line, column, ERROR, "") if is_brand_code(code) else (line, column, code, message)


def new_errors(errors: Iterable[ErrorInfo], places: Container[ErrorPlace]) -> list[ErrorInfo]:
    """Return the errors at other places, each place once, with their notes."""
    found, kept, keeps = set[ErrorPlace](), list[ErrorInfo](), True
    for e in errors:
        if e.severity == "error":
            keeps = (place := place_of(e)) not in found and place not in places
            found.add(place)
        kept += [e] if keeps else []
    return kept


Replaceable = tuple[frozenset[int], list[ErrorInfo]]
"""An error with its notes, and the lines on which another error replaces it."""
_replaceable: dict[str, list[Replaceable]] = {}


def give_way(file: str, replaceable: list[Replaceable]) -> None:
    """Mark errors that later errors replace: mypy may check functions after the statements of a file."""
    _replaceable[file] = replaceable


def replace_errors(errors: Errors, file: str, line: int, message: str) -> None:
    """Remove the errors that an error on this line replaces, also those about the same operation there."""
    reported, operation = errors.error_info_map.get(file, []), message.partition(":")[0]
    for lines, replaced in _replaceable.get(file, ()):
        if line in lines or any(e.line == line and e.message.partition(":")[0] == operation for e in replaced):
            reported[:] = [e for e in reported if not any(e is r for r in replaced)]


def replace_reads(errors: Errors, file: str, note: str) -> None:
    """Remove the errors about the read that a later error names: `reads: layers.py:26, in ...`."""
    place = f"where: {note.strip().removeprefix('reads: ').partition(',')[0]},"
    for _, replaced in _replaceable.get(file, ()):
        if any(e.message.lstrip().startswith(place) for e in replaced):
            reported = errors.error_info_map.get(file, [])
            reported[:] = [e for e in reported if not any(e is r for r in replaced)]


def add_errors(api: TypeChecker, errors: Sequence[ErrorInfo]) -> None:
    """Report errors that were found in a trial, each place once."""
    if not errors:
        return
    kept = new_errors(errors, () if _trials else _reported_places(api, {e.line for e in errors}))
    times_told[0] += len(kept) < len(errors)
    if not _trials:
        _set_target(kept, api)
        hide_consequences(api.errors, [e for e in kept if e.code in ONE_PLACE and e.severity == "error"])
    api.msg.add_errors(kept)


def _target(api: TypeChecker) -> str | None:
    """Return the name of the unit that mypy's daemon checks: a function or a module; a lambda has no name."""
    return api.tscope.current_target() or api.tree.fullname


def _set_target(errors: Iterable[ErrorInfo], api: TypeChecker) -> None:
    """Let mypy's daemon report errors for the unit that it checks, not for a body that was checked or a lambda."""
    for e in errors:
        e.target = _target(api)


def _reported_places(api: TypeChecker, lines: Container[int]) -> set[ErrorPlace]:
    """Return the places of the errors in these lines that were reported for the current target."""
    reported, target = api.errors.error_info_map.get(api.errors.file, ()), _target(api)
    return {place_of(e) for e in reported if e.line in lines and e.severity == "error" and e.target == target}


def fail_at_once(api: TypeChecker, context: Context, code: ErrorCode, message: str, *notes: str) -> None:
    """Report an error even where mypy only tries an alternative, such as an operand of `0 < a`.

    Such an error holds for every alternative. In a trial of the plugin it is one of the errors of the trial.
    """
    times_told[0] += 1
    n = api.errors._watchers.index(_trials[-1]) + 1 if _trials else 0
    if _trials:
        api.binder.version += 1  # mypy must not cache the type without its error
    elif _place(context.line, context.column, code, message) in _reported_places(api, (context.line,)):
        return
    if not _trials:
        replace_errors(api.errors, api.errors.file, context.line, message)
    reported = api.errors.error_info_map.setdefault(api.errors.file, [])
    before = len(reported)
    with past_watchers(api.errors, n):
        fail(api, context, code, message, *notes)
        _set_target(reported[before:], api)
    if not _trials:
        hide_repeated(reported, before)


def hide_repeated(reported: Sequence[ErrorInfo], first: int) -> None:
    """Hide errors from `first` on, with their notes, if another function of the file has reported their place.

    A hidden error makes mypy's daemon check its function after each edit, so it is shown if the other one is gone.
    """
    places = {place_of(e) for e in reported[:first] if e.severity == "error" and not e.hidden}
    is_repeated = False
    for e in reported[first:]:
        is_repeated = place_of(e) in places if e.severity == "error" else is_repeated
        e.hidden = e.hidden or is_repeated


def show(t: Type, api: TypeChecker) -> str:
    return format_type_bare(t, api.options)


def opened_at(brand: Brand) -> str | None:
    """Return the position where a fresh brand was opened, as `app.py:12`."""
    if isinstance(brand, TypeVarType) and brand.id.namespace.startswith(f"{_OURS}@"):
        _, path, place = brand.id.namespace.split("@")
        line = place.split(":")[0]
        return f"{Path(path).name}:{line}" if line.isdigit() else None
    return None


_OURS = "branded"
_NAMED = f"{_OURS}, named "


def brand_name(brand: Brand) -> str | None:
    """Return the string that names a fresh brand: empty if it is unknown here, None if there is no name."""
    is_named = isinstance(brand, TypeVarType) and brand.fullname.startswith(_NAMED)
    return brand.fullname.removeprefix(_NAMED) if is_named and isinstance(brand, TypeVarType) else None


class OpenBrands:
    """The brands that are open while the plugin checks a body."""

    def __init__(self, lookup: Callable[[str], SymbolTableNode | None]) -> None:
        self.open: list[Brand] = []
        self.crossed: list[Brand] = []
        """The brands over which examples have exchanged values, since the plugin started the check."""
        self.unmapped: set[Expression] = set()
        """The unmapped arguments of mapped functions, which are the same for all examples."""
        self.unvaried = "note"
        """The setting `unvaried`: the severity of messages about results that are not batched."""
        self.require_axes = False
        """Whether a mapped tensor needs named axes."""
        self.followed: Callable[[TypeChecker], None] | None = None
        """Called with the checker of each file that uses vmap, once it is checked."""
        self.plain_call: PlainCall = lambda ctx, node: None
        """The rule for calls of functions that are annotated with `Tensor` only; the plugin sets it."""
        self._lookup = lookup
        self._classes: dict[str, TypeInfo] = new_cache()

    def instance(self, fullname: str, *args: Type) -> Instance:
        """Return a class with these arguments."""
        if (info := self._classes.get(fullname)) is None:
            symbol = self._lookup(fullname)
            assert symbol is not None and isinstance(symbol.node, TypeInfo), fullname
            info = self._classes[fullname] = symbol.node
        return Instance(info, list(args))

    @contextmanager
    def opened(self, brand: Brand) -> Iterator[None]:
        self.open.append(brand)
        before = len(self.crossed)
        try:
            yield
        finally:
            self.open.pop()
            self.crossed[before:] = [b for b in self.crossed[before:] if b != brand]

    def is_all_known(self, line: int, api: TypeChecker) -> bool:
        """Return whether the open brands are all brands that can be open at a line.

        A function with rows may be called within other vmaps, and each function where the plugin opens no brand. A
        brand whose name is unknown may be any brand, and a block `with brand(...)` opens others.
        """
        if _is_in_block(line, api.tree):
            return False
        within = any(is_declared_with_rows(f) for f in enclosing_functions(api))
        is_open = bool(self.open) or not is_in_function(api)
        return is_open and not within and all(brand_name(b) != "" for b in self.open)

    def fresh(
        self,
        stem: str,
        context: Context,
        api: TypeChecker,
        rows: Iterable[Brand] = (),
        place: str | None = None,
        named: str | None = None,
    ) -> TypeVarType:
        """Return a rigid type variable that no annotation can name, the same one for each visit of a position.

        Its printed name differs from the open brands, the brands in `rows` and the user's type variables. A collective
        refers to the brand by `named`.
        """
        where = f"{_OURS}@{api.path}@{place or f'{context.line}:{context.column}'}"
        opened = [b.id for b in self.open if isinstance(b, TypeVarType)]
        # vmap(vmap(f))(x) opens both brands in one call
        here = next(i for n in itertools.count() if (i := TypeVarId(-1, namespace=where + n * "'")) not in opened)
        used = {b.name for b in (*self.open, *rows) if isinstance(b, TypeVarType) and b.id != here}
        used |= {v.name for f in enclosing_functions(api) for v in f.variables}
        name = next(n for n in itertools.chain([stem], (f"{stem}{i}" for i in itertools.count(2))) if n not in used)
        bound, default = self.instance(BRAND), AnyType(TypeOfAny.from_omitted_generics)
        return TypeVarType(name, where if named is None else f"{_NAMED}{named}", here, [], bound, default)

    def named(
        self, axis_name: Expression | None, stem: str, context: Context, api: TypeChecker, rows: Iterable[Brand]
    ) -> Brand:
        """Return the brand that a vmap opens: `Users` or `"users"` from `axis_name`, or one named after a parameter."""
        name_type = get_proper_type(api.get_expression_type(axis_name)) if axis_name is not None else NoneType()
        if (brand := class_of(name_type)) is not None:
            if isinstance(brand, Instance) and brand.type.fullname == BRAND:
                fix = "try:   class Users(Brand): ..., and axis_name=Users"
                fail(api, context, OPTION, "axis_name: `Brand` is the base class, not a brand", fix)
            elif brand in [*self.open, *rows]:
                self._taken(show(brand, api), context, api)
            if isinstance(brand, Instance) and any(c.fullname == BRAND for c in brand.type.mro):
                return brand
            text = f"axis_name: {show(brand, api)} is not a name"
            fail(api, context, OPTION, text, "try:   use a string, or a subclass of Brand")
        name = axis_name.value if isinstance(axis_name, StrExpr) else text_of(name_type)
        if name is not None and any(brand_name(b) == name for b in self.open):
            self._taken(name, context, api)
        unknown = not isinstance(name_type, NoneType) and name is None
        if unknown and not isinstance(name_type, AnyType):
            stem = "brand"
        return self.fresh(name or stem, context, api, rows, named="" if unknown else name)

    def _taken(self, name: str, context: Context, api: TypeChecker) -> None:
        fail(
            api,
            context,
            NAME_TAKEN,
            f'axis_name: brand "{name}" is already open',
            "try:   use another name for the inner brand",
        )


LAMBDA = ":lambda:"
"""Marks the places of the parameters of a transformed lambda, which `fresh` keeps in their variables."""


def place_of_lambda(v: TypeVarType) -> str:
    """Return the path, line and column of the transformed lambda that has this variable in a parameter; else ""."""
    ours, _, place = v.fullname.partition("@")
    place, is_lambda, _ = place.rpartition(LAMBDA)
    return place.replace("@", ":") if ours == _OURS and is_lambda else ""


_blocks: dict[MypyFile, list[tuple[int, int]]] = new_cache()


def _is_in_block(line: int, tree: MypyFile) -> bool:
    """Return whether a line is in a block `with brand(...)`."""
    if tree not in _blocks:
        blocks = [s for s in walk(tree.defs) if isinstance(s, WithStmt) and any(map(_opens_brand, s.expr))]
        _blocks[tree] = [(s.line, max(part.line for part in walk(s))) for s in blocks]
    return any(first <= line <= last for first, last in _blocks[tree])


def _opens_brand(e: Expression) -> bool:
    callee = e.callee if isinstance(e, CallExpr) else None
    return isinstance(callee, RefExpr) and callee.fullname == "branded.core.brand.brand"


def text_of(t: Type) -> str | None:
    """Return the value of a string constant; None for other types."""
    t = get_proper_type(t)
    literal = t.last_known_value if isinstance(t, Instance) else t
    return literal.value if isinstance(literal, LiteralType) and isinstance(literal.value, str) else None


def class_of(t: Type) -> Brand | None:
    """Return the brand for a class, given the type of its name; None for other types."""
    t = get_proper_type(t)
    return get_proper_type(t.ret_type) if isinstance(t, CallableType) and t.is_type_obj() else None


def is_declared_with_rows(f: CallableType) -> bool:
    return bool(row_variables(f)) or any(rows_in(t) for t in f.arg_types)


def is_in_function(api: TypeChecker) -> bool:
    """Return whether mypy checks the body of a function or a lambda."""
    return any(isinstance(item, FuncDef | LambdaExpr) for item in api.scope.stack)


def enclosing_functions(api: TypeChecker) -> Iterator[CallableType]:
    """Find the types of the enclosing functions."""
    for item in api.scope.stack:
        if isinstance(item, FuncDef) and isinstance(item.type, CallableType):
            yield item.type


NUMBERED: list[Brand] = [
    TypeVarType(f"{i}", f"{i}", TypeVarId(-1, namespace=f"{_OURS}@@{i}"), [], UNKNOWN, UNKNOWN) for i in range(8)
]
"""Brands to compare the types of two calls that differ only in brands without names."""


def unnamed_brands(types: Sequence[Type]) -> list[Brand]:
    """Return the brands without names that vmap has opened, in the order in which they occur."""
    return [b for b in dict.fromkeys(b for t in types for b in rows_in(t)) if is_unnamed(b)]


def is_unnamed(brand: Brand) -> TypeGuard[TypeVarType]:
    """Return whether vmap has opened a brand without a name, or the brand stands for such a brand."""
    is_ours = isinstance(brand, TypeVarType) and brand.id.namespace.startswith(f"{_OURS}@")
    return is_ours and brand_name(brand) is None


def renaming(brands: Sequence[Brand], others: Sequence[Brand]) -> Change:
    """Return the change of a row that replaces brands by others."""
    new = dict(zip(brands, others, strict=False))
    return lambda row: [new.get(b, b) for b in row]
