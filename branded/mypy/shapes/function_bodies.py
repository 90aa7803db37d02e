"""Calls of functions whose bodies are followed, and the ways in which a body ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, reduce

from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    ClassDef,
    Context,
    Decorator,
    Expression,
    FuncDef,
    LambdaExpr,
    OverloadedFuncDef,
    ReturnStmt,
    Statement,
    Var,
)
from mypy.types import CallableType, Instance, TupleType, Type, get_proper_type

from branded.mypy.analysis.source_digest import Kept, keep, use
from branded.mypy.axes.types import axes_of, is_variable, unify_axes
from branded.mypy.codes import AXES, ERROR
from branded.mypy.rows.algebra import rows_in
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.shapes.axes import format_axes, format_axis
from branded.mypy.shapes.brands import map_leaves
from branded.mypy.shapes.evaluate import Evaluator
from branded.mypy.shapes.objects import declared_value
from branded.mypy.shapes.other_files import original_node, original_of, path_of, variable_of
from branded.mypy.shapes.shared_results import Body, Key, KnownResult, Sharing, key_of, result_of
from branded.mypy.shapes.state import DEEPEST, DEEPEST_OF_ONE, STEPS, STEPS_OF_A_VARIABLE, OutOfSteps, Yields
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Class,
    Fact,
    Function,
    Mutable,
    Shaped,
    Stream,
    Tuple,
    Variables,
    brands_of,
    changed,
    forget,
    is_frozen,
    is_immutable,
    is_lasting,
    join,
    list_of,
)


class Maybe(Fact):
    """A value that is returned on some paths; on others, execution continues."""

    def __init__(self, value: Fact) -> None:
        self.value = value


class Ended(Fact):
    """A value that is certainly returned."""

    def __init__(self, value: Fact) -> None:
        self.value = value


class _Mark(Fact):
    pass


RAISED, LEFT = _Mark(), _Mark()


def without_raised(value: Fact) -> Fact:
    return value.value if isinstance(value, Ended | Maybe) else UNKNOWN if isinstance(value, _Mark) else value


class FunctionCalls(Evaluator):
    """Follows the functions that are called, and shares their results."""

    shares = True
    """Whether results of functions may be shared between files."""

    def __init__(
        self, api: TypeChecker, scope: OpenBrands, declared_only: bool = False, home: str | None = None
    ) -> None:
        super().__init__(api, scope, declared_only, home)
        self.results: dict[Key, KnownResult] = {}
        """The results of functions of a module."""
        self.sharing = Sharing(self, self.results)
        self.variables: dict[Var, Kept[Fact]] = {}
        """The values of the variables of other files."""
        self.misdeclared: set[Context] = set()
        """The places where a result differs from its declaration, so that one of another file is reported once."""

    @cached_property
    def unique_functions(self) -> set[Body]:
        """The functions of this file that importers find by name in its source."""
        defined = [s for s in self.tree.defs if isinstance(s, FuncDef | Decorator | OverloadedFuncDef | ClassDef)]
        counts = Counter(s.name for s in defined)
        found = ((s, self.tree.names.get(s.name)) for s in defined if isinstance(s, FuncDef) and counts[s.name] == 1)
        return {s for s, symbol in found if symbol is not None and symbol.node is s}

    def execute(self, statements: Sequence[Statement]) -> Fact | None:
        raise NotImplementedError

    def call_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        if self.declared_only and isinstance(f.node, FuncDef) and at is not f.node:
            declared = _result_type(f.node)
            return declared_value(declared, UNKNOWN) if declared is not None else UNKNOWN
        given_values = (*f.bound, *given.positional)
        is_simple = (
            f.frame.outer is None and not given.keywords and given.exact and all(map(is_immutable, given_values))
        )
        if not is_simple:
            return self._run_function(f, given, at)
        node, is_elsewhere = original_node(f)
        key, used = key_of(self, node, given_values)
        is_shared = self.shares and not self.declared_only and (is_elsewhere or node in self.unique_functions)
        self.unshared += not is_shared
        known = self.results.get(key)
        if known is not None and known.version == changed[0] and (value := known.under(self, used)) is not None:
            if is_shared:
                self.sharing.called(key)
            return value
        if is_shared and is_elsewhere and (found := self.sharing.find(key, used)) is not None:
            return found
        before = changed[0], self.told if is_elsewhere else len(self.findings)
        if is_shared:
            result = self.sharing.compute(key, used, lambda: self._run_function(f, given, at), not is_elsewhere)
        else:
            result = self._run_function(f, given, at)
        # a mistake in a function of another file is reported at each call
        if (changed[0], self.told if is_elsewhere else len(self.findings)) == before:
            self.results[key] = result_of(self, result, used)
        return result

    def variable_of_other(self, node: Var) -> Fact:
        """Return the value of a global variable of another file that nothing can change, else UNKNOWN."""
        if (found := variable_of(node, self.api)) is None:
            return UNKNOWN
        if node not in self.variables:
            self.variables[node] = UNKNOWN, set()  # while its own value needs it
            self.variables[node] = keep(lambda: self._evaluate_alone(*found))
        value = use(self.variables[node], self.api)
        return self.declared(node.type, value) if node.type is not None and isinstance(value, Shaped) else value

    def _evaluate_alone(self, e: Expression, frame: Variables) -> Fact:
        """Evaluate code of another file, which neither depends on the state of this run nor changes it."""
        before = dict(vars(self))
        self.frame, self.results, self.shares, self.uncertain = frame, {}, False, 1
        self.sharing, self.steps, self.inside, self.compared = (
            Sharing(self, self.results),
            STEPS - STEPS_OF_A_VARIABLE,
            0,
            set(),
        )
        self.calls, self.opened, self.sizes, self.yields, self.stores = [], [], [], [], []
        try:
            value = self.evaluate(e)
        except OutOfSteps:
            value = UNKNOWN
        vars(self).clear()
        vars(self).update(before)
        return value if is_lasting(value) else UNKNOWN

    def _run_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        node = f.node
        is_too_deep = len(self.calls) >= DEEPEST or self._is_recursive(f)
        self.unshared += is_too_deep
        if is_too_deep or not hasattr(node, "arguments"):
            for value in given.all():
                forget(value)
            return UNKNOWN
        if not self.uncertain:
            self.entered.add(node)
        frame, outer = Variables(f.frame), self.frame
        self._bind(f, given, frame)
        self.calls.append((node, at, f))
        self.deepest = max(self.deepest, len(self.calls))
        self.sharing.entered.add(original_of(node))
        self.frame = frame
        self.yields.append(yielded := Yields(self.uncertain))
        told = self.told
        try:
            returned = self.execute(node.body.body)
            if node.is_generator:
                values = yielded.values
                return list_of(values) if yielded.is_exact else Stream(reduce(join, values or [UNKNOWN]))
            result = NONE if returned is None else without_raised(returned)
            result = join(result, NONE) if isinstance(returned, Maybe) else result
            declared = _result_type(node)
            return self._declared_result(node, declared, result, self.told > told) if declared is not None else result
        finally:
            self.frame = outer
            self.calls.pop()
            self.yields.pop()

    def _is_recursive(self, f: Function) -> bool:
        """Return whether a function is running twice already, or many times for other objects or in other closures."""
        running = [g for node, _, g in self.calls if node is f.node]
        same = [g for g in running if g.frame is f.frame and [*map(id, g.bound[:1])] == [*map(id, f.bound[:1])]]
        return len(same) > 1 or len(running) >= DEEPEST_OF_ONE

    def _bind(self, f: Function, given: Arguments, frame: Variables) -> None:
        positional = [*f.bound, *given.positional]
        keywords = dict(given.keywords)
        types = f.node.type.arg_types if isinstance(f.node.type, CallableType) else None
        for i, argument in enumerate(f.node.arguments):
            variable, kind = argument.variable, argument.kind
            value: Fact | None = None
            if kind == ARG_STAR:
                value = Tuple(tuple(positional)) if given.exact else UNKNOWN
                positional = []
            elif kind == ARG_STAR2:
                rest: dict[object, Fact] = dict(keywords.items())
                value = Mutable("dict", rest) if given.exact else UNKNOWN
            elif kind not in (ARG_NAMED, ARG_NAMED_OPT) and positional:
                value = positional.pop(0)
            elif variable.name in keywords:
                value = keywords.pop(variable.name)
            elif argument.initializer is not None and given.exact:
                with self.maybe():
                    value = self.evaluate(argument.initializer)
                if isinstance(value, Mutable) and not (value.info is not None and is_frozen(value.info)):
                    value = UNKNOWN
            value = UNKNOWN if value is None else value
            frame.names[variable] = self._declared_parameter(types[i] if types else None, value, variable, f.node)

    def _declared_parameter(self, declared: Type | None, value: Fact, variable: Var, f: FuncDef | LambdaExpr) -> Fact:
        p = get_proper_type(declared)
        if isinstance(p, Instance) and p.type.fullname == "builtins.int" and value is UNKNOWN:
            return self.symbol(variable.name, f.line)
        return self._with_declared(declared, value) if declared is not None else value

    def declared_variable(self, s: AssignmentStmt, target: Expression, declared: Type, value: Fact) -> Fact:
        """Return the facts of a variable with a declared type, and report a value with other axes."""
        self.unshared += 1  # importers do not know the declared types of local variables
        axes = _other_axes(declared, value)
        if axes is not None and not self._is_told(s) and isinstance(value, Shaped):
            wrong = f"{getattr(target, 'name', '=')}: the value has the axes {format_axes(value.axes or ())}"
            self.report(s, AXES, f"{wrong}, and {format_axes(axes)} is declared")
        return self._with_declared(declared, value)

    def _declared_result(self, f: FuncDef | LambdaExpr, declared: Type, result: Fact, is_told: bool) -> Fact:
        """Return the facts of a result, and report other axes than the declared ones.

        `is_told` says that a mistake was found in the body, which is also the cause of the other axes.
        """
        p = get_proper_type(declared)
        if isinstance(p, TupleType) and isinstance(result, Tuple) and len(p.items) == len(result.items):
            items = (self._declared_result(f, t, v, is_told) for t, v in zip(p.items, result.items, strict=True))
            return Tuple(tuple(items)) if not p.partial_fallback.type.is_named_tuple else result
        axes = _other_axes(declared, result)
        if axes is not None and isinstance(result, Shaped) and result.axes is not None:
            name = f.name if isinstance(f, FuncDef) else "lambda"
            returned = next((s for s in f.body.body if isinstance(s, ReturnStmt)), f)
            wrong = f"{name}: the result has the axes {format_axes(result.axes)}, and {format_axes(axes)} is declared"
            self.unshared += 1  # another call may have reported it
            is_told |= self._is_told(returned)  # in the value that is returned
            if not is_told and (path_of(returned) is None or returned not in self.misdeclared):
                self.report(returned, ERROR, wrong, *_order_fix(result.axes, axes))
            self.misdeclared.add(returned)
        return self._with_declared(declared, self._without_undeclared(f, declared, result))

    def _without_undeclared(self, f: FuncDef | LambdaExpr, declared: Type, value: Fact) -> Fact:
        """Remove the brands that parameters are declared with and the result is not: mypy reports such a result.

        def spread(x: Vec[Users | S]) -> Vec[S]: ...
        """
        named = {b: b.name.info for b in brands_of(value) if isinstance(b.name, Class)}
        if not named or not isinstance(f.type, CallableType):
            return value
        given = {b.type for t in f.type.arg_types for b in rows_in(t) if isinstance(b, Instance)}
        kept = {b.type for b in rows_in(declared) if isinstance(b, Instance)}
        gone = {b for b, info in named.items() if info in given - kept}
        return map_leaves(value, lambda x: x.with_brands(x.brands - gone) if isinstance(x, Shaped) else x)

    def _with_declared(self, declared: Type, value: Fact) -> Fact:
        """Return the facts that a value and its declared type state, without axes if the two contradict."""
        if _other_axes(declared, value) is not None:  # the mistake is also the cause of others, where the value is used
            return Shaped(None, brands_of(value))
        return self.declared(declared, value)

    def _is_told(self, s: Context) -> bool:
        """Return whether there is a mistake in the value of a statement, or in a function that the statement calls."""
        return any(s.line in mistake.lines for mistake in self.findings.values())


def _result_type(f: FuncDef | LambdaExpr) -> Type | None:
    """Return the declared type of a result; of a coroutine, the type that `await` gives."""
    declared = get_proper_type(f.type.ret_type) if isinstance(f.type, CallableType) else None
    is_awaited = f.is_coroutine and not f.is_generator and isinstance(declared, Instance) and declared.args
    return declared.args[-1] if is_awaited and isinstance(declared, Instance) else declared


def _order_fix(own: Sequence[Type], declared: Sequence[Type]) -> list[str]:
    """Return the fix for a result whose axes are the declared ones in another order."""
    names, wanted = [format_axis(a) for a in own], [format_axis(a) for a in declared]
    if len(set(names)) < len(names) or set(names) != set(wanted):
        return []
    order = ", ".join(str(names.index(name)) for name in wanted)
    moved = ".T" if len(names) == 2 else f".permute({order})"
    return [f"try:   add {moved} to the result, or declare Axes[{', '.join(names)}]"]


def _other_axes(declared: Type, value: Fact) -> Sequence[Type] | None:
    """Return the declared axes if a value certainly has others."""
    axes, own = axes_of(declared), value.axes if isinstance(value, Shaped) else None
    if axes is None or own is None or any(map(is_variable, axes)):
        return None
    fit = len(axes) == len(own) and all(unify_axes(a, b) is not None for a, b in zip(axes, own, strict=True))
    return None if fit else axes
