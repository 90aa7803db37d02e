"""`OpenBrands`: the brands that are open at the code being checked, and fresh brands."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeGuard

from mypy.checker import TypeChecker
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
from mypy.plugin import FunctionSigContext, MethodSigContext
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
from branded.mypy.codes import NAME_TAKEN, OPTION
from branded.mypy.rows.algebra import BRAND, UNKNOWN, Brand, Change, row_variables, rows_in
from branded.mypy.rows.reporting import fail, show

PlainCall = Callable[[FunctionSigContext | MethodSigContext, Node | None], CallableType | None]
"""The signature for a call with batched arguments of a function of tensors; None for other functions."""


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
