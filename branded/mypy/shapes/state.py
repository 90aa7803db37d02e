"""The state of the analysis of a file: the open brands, the running functions, and the mistakes found so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.nodes import Context, Expression, FuncDef, LambdaExpr, NameExpr, SymbolNode, Var
from mypy.types import CallableType, LiteralType, Type, TypeVarId, TypeVarType

from branded.mypy.analysis.source.walk import walk
from branded.mypy.analysis.untyped_modules import assigned_to
from branded.mypy.axes.types import SIZE
from branded.mypy.codes import OPERAND, READ, SHAPE
from branded.mypy.rows.algebra import BRAND
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.rows.brand_env import OpenBrands, is_declared_with_rows
from branded.mypy.shapes.other_files import path_of
from branded.mypy.shapes.values import Arguments, Fact, FollowedBrand, Function, Mutable, Size, Variables

STEPS = 40_000
"""The maximum number of expressions that are evaluated for a file."""
DEEPEST = 30
"""The maximum depth of calls that are followed."""
DEEPEST_OF_ONE = 8
"""The maximum depth of calls of one function, for different objects or closures."""
STEPS_OF_A_VARIABLE = 400
"""The maximum number of expressions that are evaluated for a global variable of another file."""


class OutOfSteps(Exception):
    """Raised when a file has more than `STEPS` expressions: the rest is not followed."""


class ShapeMistake(NamedTuple):
    """A mistake: its place, its message, and the call of a function of this file that leads to it."""

    at: Context
    code: ErrorCode
    message: str
    notes: tuple[str, ...]
    lines: frozenset[int]
    """The lines of the mistake, of the calls that lead to it, and of the stores that it may follow from."""
    is_note: bool = False
    source: tuple[Function, int] | None = None
    """For a mistake in another file, the function of that file that was called from this one, and the line there."""


class Yields:
    """The values that a generator has yielded, and whether these are all."""

    def __init__(self, uncertain: int) -> None:
        self.uncertain, self.is_exact = uncertain, True
        self.values: list[Fact] = []


class FileState:
    """The facts that are known while a file is followed, and the mistakes that were found."""

    def __init__(
        self, api: TypeChecker, scope: OpenBrands, declared_only: bool = False, home: str | None = None
    ) -> None:
        self.api, self.tree, self.scope = api, api.tree, scope
        self.home = home
        """The path of another file whose mistakes are looked for, as if it were followed itself."""
        self.declared_only = declared_only
        """Whether only declared axes are known, and functions are not entered, as in the types of mypy."""
        self.module = Variables()
        self.frame = self.module
        self.uncertain = 0
        """Not 0 in code that may not run, or not with these values: nothing is reported there."""
        self.steps = self.inside = self.deepest = 0
        self.unshared = 0
        """The number of results that depended on more than the arguments of their function, or had mistakes."""
        self.told = 0
        """The number of mistakes found."""
        self.calls: list[tuple[FuncDef | LambdaExpr, Context, Function]] = []
        """The functions of this file that are running, and where they are called."""
        self.caller = Context()
        """The innermost call in this file, also of a function without a body, such as a vmap that is kept."""
        self.entered: set[FuncDef | LambdaExpr] = set()
        self.findings: dict[tuple[int, str], ShapeMistake] = {}
        self.reached: set[int] = set()
        """The lines with calls that lead to a wrong shape: their results may have wrong shapes too."""
        self.compared: set[Type] = set()
        """The sizes that the program compares, which may be equal."""
        self.opened: list[FollowedBrand] = []
        """The brands that are open."""
        self.stores: list[tuple[Mutable, object, Context]] = []
        """Values stored in lists, dicts and objects while a brand is open, with key and place."""
        self.stored_at: dict[FollowedBrand, frozenset[int]] = {}
        """The lines of this file that stored something while a brand was open."""
        self.yields: list[Yields] = []
        """The values that running generators have yielded."""
        self.sizes: list[int | None] = []
        """The batch sizes of the brands in `opened`."""

    def evaluate(self, e: Expression | None) -> Fact:
        raise NotImplementedError

    def call(self, f: Fact, given: Arguments, at: Context) -> Fact:
        raise NotImplementedError

    def call_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        raise NotImplementedError

    def attribute(self, base: Fact, name: str, at: Context) -> Fact:
        raise NotImplementedError

    def item(self, base: Fact, index: Fact, at: Context) -> Fact:
        raise NotImplementedError

    def special(self, value: Fact, name: str, given: Sequence[Fact], at: Context) -> Fact | None:
        raise NotImplementedError

    def variable_of_other(self, node: Var) -> Fact:
        raise NotImplementedError

    def class_value(self, node: SymbolNode | None, is_descriptor: bool = False) -> Fact:
        raise NotImplementedError

    def body_of(self, node: FuncDef) -> Function | None:
        raise NotImplementedError

    def binary(self, op: str, left: Fact, right: Fact, at: Context, a: Expression, b: Expression) -> Fact:
        raise NotImplementedError

    def truth(self, e: Expression) -> bool | None:
        raise NotImplementedError

    def iterate(self, value: Fact) -> list[Fact] | Fact | None:
        raise NotImplementedError

    def assign(self, target: Expression, value: Fact) -> None:
        raise NotImplementedError

    def is_own(self, fullname: str) -> bool:
        """Return whether a name is defined in the file that is followed."""
        is_own = fullname.startswith(f"{self.tree.fullname}.")
        self.unshared += is_own
        return is_own

    def report(
        self,
        at: Context,
        code: ErrorCode,
        message: str,
        *notes: str,
        is_note: bool = False,
        vmap: Context | None = None,
        stored: frozenset[int] = frozenset(),
    ) -> None:
        path, source = self._other_path(at), None
        calls = running = [c for c in self.calls if c[0] is not c[1]]  # without a function that is followed alone
        if self.uncertain or (path is not None and code in (READ, OPERAND) and self._is_reported_in(path)):
            return
        self.unshared += 1
        self.told += 1
        if path is not None:  # in another file: the error is at the call in this file
            places = [i for i, (_, call, _) in enumerate(calls) if self._other_path(call) is None]
            called_there = [g for f, _, g in calls if path_of(f) == path and isinstance(f, FuncDef)]
            source = (called_there[0], at.line) if called_there else None
            if not places and (not calls or self.caller.line < 0):
                return
            notes = (*notes, f"where: {self.describe_place(at)}, in `{getattr(calls[-1][0], 'name', 'lambda')}`")
            at, calls = (calls[places[-1]][1], calls[: places[-1]]) if places else (self.caller, [])
        lines = [call.line for _, call, _ in calls if call.line != at.line and self._other_path(call) is None]
        called = [f"call:  line {lines[-1]}"] if lines and not is_note else []
        fixes = [note for note in notes if note.startswith("try:")]
        notes = (*(note for note in notes if note not in fixes), *called, *fixes)
        key = at.line, message.partition(":")[0]
        chain = [at, self.caller, *([vmap] if vmap is not None else ()), *(call for _, call, _ in running)]
        around = stored.union(call.line for call in chain if call.line > 0 and self._other_path(call) is None)
        if code is SHAPE and not stored:
            if not self.reached.isdisjoint(self.lines_of_value(at)):
                return
            self.reached |= around - {at.line}
        self.findings.setdefault(key, ShapeMistake(at, code, message, notes, around, is_note, source))

    def has_mistake(self, at: Context) -> bool:
        """Return whether a call has a mistake already, from an earlier step of a loop: its values may be wrong."""
        return any(f.at is at and not f.is_note for f in self.findings.values())

    def lines_of_value(self, e: Context) -> frozenset[int]:
        """Return the line of an expression, and the lines that compute the values of the variables in it."""
        values = [assigned_to(part.node, self.api) for part in (e, *walk(e)) if isinstance(part, NameExpr)]
        return frozenset([e.line, *(part.line for v in values if v is not None for part in (v, *walk(v)))])

    def describe_place(self, at: Context) -> str:
        """Return the line of a node for a message, with the file if it is another one."""
        path = self._other_path(at)
        return f"line {at.line}" if path is None else f"{Path(path).name}:{at.line}"

    def _other_path(self, at: Context) -> str | None:
        """Return the path of the file of a node; None for the file that is followed."""
        path = path_of(at)
        return None if path == self.home else path

    def _is_reported_in(self, path: str) -> bool:
        """Return whether the types of another file show a read there: its brand is declared there, or opened there."""
        f = next((f for f, *_ in reversed(self.calls) if isinstance(f, FuncDef)), None)
        has_rows = f is not None and isinstance(f.type, CallableType) and is_declared_with_rows(f.type)
        return has_rows or (bool(self.opened) and all(path_of(b.at) == path for b in self.opened))

    def stored(self, owner: Mutable, key: object, at: Context) -> None:
        """Record a store into a list, a dict or an object, which may keep a value of an open brand."""
        if self.opened:
            self.stores.append((owner, key, at))

    @contextmanager
    def maybe(self, uncertain: bool = True) -> Iterator[None]:
        """Evaluate code that may not run."""
        self.uncertain += uncertain
        try:
            yield
        finally:
            self.uncertain -= uncertain

    def symbol(self, name: str, line: int) -> Size:
        """Return an int that is known by the name of its variable only."""
        bound = self.scope.instance(BRAND)
        place = TypeVarId(-1, namespace=f"{SIZE}@{name}@{line}")
        return Size(TypeVarType(name, f"{SIZE}{name}", place, [], bound, ANY_AXIS))

    def length(self, n: int) -> LiteralType:
        return LiteralType(n, self.scope.instance("builtins.int"))
