"""Execution of the statements of a file and of its functions, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_STAR,
    ARG_STAR2,
    AssertStmt,
    AssignmentStmt,
    Block,
    BreakStmt,
    CallExpr,
    ClassDef,
    ComparisonExpr,
    Context,
    ContinueStmt,
    Decorator,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    IndexExpr,
    LambdaExpr,
    ListExpr,
    MatchStmt,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    OverloadedFuncDef,
    RaiseStmt,
    ReturnStmt,
    StarExpr,
    Statement,
    SymbolNode,
    TempNode,
    TryStmt,
    TupleExpr,
    Var,
    WhileStmt,
    WithStmt,
)
from mypy.patterns import (
    AsPattern,
    ClassPattern,
    OrPattern,
    Pattern,
    SequencePattern,
    StarredPattern,
    ValuePattern,
)
from mypy.types import CallableType, Instance, Type, get_proper_type

from branded.mypy.analysis.source.walk import walk
from branded.mypy.axes.types import axes_of, is_variable, unify_axes
from branded.mypy.codes import ERROR, SHAPE
from branded.mypy.shapes import libraries
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.brands import check_truth
from branded.mypy.shapes.evaluate import Evaluator
from branded.mypy.shapes.objects import declared_value, field_names
from branded.mypy.shapes.other_files import path_of
from branded.mypy.shapes.shared_results import Key, KnownResult, Sharing, key_of, result_of
from branded.mypy.shapes.state import DEEPEST, STEPS, OutOfSteps, Yields
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    Function,
    Mutable,
    Shaped,
    Size,
    Stream,
    Tuple,
    Variables,
    brands_of,
    changed,
    forget,
    is_any_axis,
    is_frozen,
    is_immutable,
    is_same,
    items_of,
    join,
    list_of,
)

UNROLLED = 8
"""The maximum number of loop steps that are executed one by one."""
_RAISES = ("raises", "suppress", "assertRaises", "warns")


class Interpreter(Evaluator):
    """Follows a file from its first statement to its last, then the functions that were not called."""

    shares = True
    """Whether results of functions may be shared between files."""
    results: dict[Key, KnownResult]
    """The results of functions of a module."""

    misdeclared: set[Context]
    """The places where a result differs from its declaration, so that one of another file is reported once."""

    def run(self) -> None:
        self.results, self.misdeclared = {}, set()
        self.sharing = Sharing(self, self.results)
        try:
            self.execute(list(self.tree.defs))
            for f in self._functions(self.tree.defs):
                if f not in self.entered or self.declared_only:
                    self.call_function(Function(f, self.module), Arguments(exact=False), f)
        except (OutOfSteps, RecursionError):
            self.calls.clear()

    def _functions(self, statements: Iterable[object]) -> Iterable[FuncDef]:
        for s in statements:
            if isinstance(s, FuncDef):
                yield s
            elif isinstance(s, Decorator) and not s.func.is_property:
                yield s.func
            elif isinstance(s, ClassDef):
                yield from self._functions(s.defs.body)

    # ---- statements ----

    def execute(self, statements: Sequence[Statement]) -> Fact | None:
        """Execute statements; return the value that is returned, or None if the end is reached."""
        returned: Fact | None = None
        for s in statements:
            value = self.statement(s)
            if value is None or isinstance(value, _Maybe):
                if value is not None:
                    returned = value.value if returned is None else join(returned, value.value)
                continue
            if returned is None:
                return value
            return _Ended(returned if value is RAISED else join(returned, _without_raised(value)))
        return None if returned is None else _Maybe(returned)

    def statement(self, s: Statement) -> Fact | None:
        match s:
            case ExpressionStmt():
                self.evaluate(s.expr)
            case AssignmentStmt():
                self._assignment(s)
            case OperatorAssignmentStmt():
                left, right = self.evaluate(s.lvalue), self.evaluate(s.rvalue)
                if isinstance(left, Mutable):
                    left.forget()
                self.assign(s.lvalue, self.binary(s.op, left, right, s, s.lvalue, s.rvalue))
            case ReturnStmt():
                return self.evaluate(s.expr) if s.expr is not None else NONE
            case RaiseStmt():
                return RAISED
            case BreakStmt() | ContinueStmt():
                return LEFT
            case IfStmt():
                return self._if(s)
            case ForStmt():
                return self._for(s)
            case WhileStmt():
                return self._while(s)
            case WithStmt():
                return self._with(s)
            case TryStmt():
                return self._try(s)
            case AssertStmt():
                self._assert(s)
            case FuncDef():
                self.frame.names[s] = Function(s, self.frame)
            case Decorator():
                self._decorated(s)
            case ClassDef():
                self.frame.names[s.info] = Class(s.info)
            case OverloadedFuncDef():
                self.frame.names[s] = UNKNOWN
            case Block():
                return self.execute(s.body)
            case MatchStmt():
                return self._match(s)
        return None

    def _assignment(self, s: AssignmentStmt) -> None:
        if isinstance(s.rvalue, TempNode):
            return
        value = self.evaluate(s.rvalue)
        for target in s.lvalues:
            node = target.node if isinstance(target, NameExpr) else None
            self._check_count(target, s.rvalue, value)
            declared = node.type if isinstance(node, Var) and s.type is not None else None
            kept = self.declared(declared, value) if declared is not None else value
            is_unnamed = isinstance(kept, Size) and is_any_axis(kept.axis)
            if is_unnamed and isinstance(target, NameExpr):
                kept = self.symbol(target.name, s.line)
            self.assign(target, kept)

    def _check_count(self, target: Expression, e: Expression, value: Fact) -> None:
        """Report `n, d = x.shape` and `a, b = x.chunk(3)`, whose length mypy does not know, for other lengths."""
        name = getattr(e.callee if isinstance(e, CallExpr) else e, "name", "")
        if not isinstance(target, TupleExpr) or not isinstance(value, Tuple) or name not in ("shape", "chunk", "split"):
            return
        values, names = len(value.items), len(target.items)
        if values != names and not any(isinstance(t, StarExpr) for t in target.items):
            self.report(target, SHAPE, f"{name}: there are {values} values for {names} names")

    def assign(self, target: Expression, value: Fact) -> None:
        match target:
            case NameExpr() if target.node is not None:
                self._set(target.node, value)
            case TupleExpr() | ListExpr():
                self._unpack(target.items, value, target)
            case StarExpr():
                self.assign(target.expr, value)
            case MemberExpr():
                owner = self.evaluate(target.expr)
                if isinstance(owner, Mutable) and owner.items is not None:
                    owner.changes()
                    old = owner.items.get(target.name, UNKNOWN)
                    owner.items[target.name] = join(old, value) if self.uncertain else value
                    self.stored(owner, target.name, target)
            case IndexExpr():
                owner, index = self.evaluate(target.base), self.evaluate(target.index)
                if not isinstance(owner, Mutable) or owner.items is None:
                    return
                key = index.value if isinstance(index, Const) else None
                if key is None or (key not in owner.items and (self.uncertain or owner.kind == "list")):
                    owner.forget()
                else:
                    owner.changes()
                    owner.items[key] = join(owner.items[key], value) if self.uncertain else value
                    self.stored(owner, key, target)

    def _unpack(self, targets: list[Expression], value: Fact, at: Context) -> None:
        items = items_of(value)
        star = next((i for i, t in enumerate(targets) if isinstance(t, StarExpr)), None)
        if items is None:
            each = self.iterate(value)
            items = [each] * len(targets) if isinstance(each, Fact) else None
            if items is not None and star is not None:
                items[star] = Stream(items[star])
        elif star is not None and len(items) >= len(targets) - 1:
            after = len(items) - (len(targets) - star - 1)
            items = [*items[:star], list_of(items[star:after]), *items[after:]]
        if items is None or len(items) != len(targets):
            items = [UNKNOWN] * len(targets)
        for target, item in zip(targets, items, strict=True):
            is_unnamed = isinstance(item, Size) and is_any_axis(item.axis)
            named = self.symbol(target.name, at.line) if is_unnamed and isinstance(target, NameExpr) else item
            self.assign(target, named)

    def _set(self, node: SymbolNode, value: Fact) -> None:
        outer = self.frame.outer
        changed[0] += outer is None
        while outer is not None:  # a global or a nonlocal variable
            if node in outer.names:
                changed[0] += 1
                outer.names[node] = UNKNOWN
                return
            outer = outer.outer
        self.frame.names[node] = value

    def _if(self, s: IfStmt) -> Fact | None:
        for i, (cond, body) in enumerate(zip(s.expr, s.body, strict=True)):
            known = self.truth(cond)
            if known:
                return self.execute(body.body)
            if known is None:
                bodies = [b.body for b in s.body[i:]]
                return self._branches([*bodies, s.else_body.body if s.else_body is not None else []])
        return self.execute(s.else_body.body) if s.else_body is not None else None

    def _match(self, s: MatchStmt) -> Fact | None:
        """Execute the case that matches if that is certain, or all that may match."""
        subject, possible = self.evaluate(s.subject), list[Sequence[Statement]]()
        for pattern, guard, body in zip(s.patterns, s.guards, s.bodies, strict=True):
            matches = self._matches(pattern, subject)
            if matches is False:
                continue
            known = matches if guard is None else None
            if guard is not None:
                self.truth(guard)
            if known and not possible:
                return self.execute(body.body)
            possible.append(body.body)
            if known:
                return self._branches(possible)
        return self._branches([*possible, []])

    def _matches(self, pattern: Pattern, value: Fact) -> bool | None:
        """Return whether a pattern matches, and bind its names; None if it is unknown."""
        match pattern:
            case AsPattern():
                inner = self._matches(pattern.pattern, value) if pattern.pattern is not None else True
                if pattern.name is not None:
                    self.assign(pattern.name, value)
                return inner
            case OrPattern():
                each = [self._matches(p, value) for p in pattern.patterns]
                return True if True in each else False if all(e is False for e in each) else None
            case ClassPattern():
                return self._matches_class(pattern, value)
            case SequencePattern() if (items := items_of(value)) is not None and not any(
                isinstance(p, StarredPattern) for p in pattern.patterns
            ):
                if len(items) != len(pattern.patterns):
                    return False
                return _every([self._matches(p, v) for p, v in zip(pattern.patterns, items, strict=True)])
            case ValuePattern():
                wanted = self.evaluate(pattern.expr)
                if brands_of(value):
                    check_truth(self, value, pattern.expr)
                same = isinstance(value, Const) and isinstance(wanted, Const)
                return is_same(value, wanted) if same else None
        for name in walk(pattern):
            if isinstance(name, NameExpr) and name.node is not None and isinstance(name.node, Var):
                self.assign(name, UNKNOWN)
        return None

    def _matches_class(self, pattern: ClassPattern, value: Fact) -> bool | None:
        wanted = self.evaluate(pattern.class_ref)
        info = value.info if isinstance(value, Mutable) else None
        is_one = isinstance(wanted, Class) and info is not None and wanted.info in info.mro
        if info is not None and isinstance(wanted, Class) and not is_one:
            return False
        names = (field_names(info) or []) if info is not None and is_one else []
        inner = [
            *zip(names, pattern.positionals, strict=False),
            *zip(pattern.keyword_keys, pattern.keyword_values, strict=True),
        ]
        each = [self._matches(p, self.attribute(value, name, pattern)) for name, p in inner]
        if not is_one or len(names) < len(pattern.positionals):
            for p in pattern.positionals if not is_one else ():
                self._matches(p, UNKNOWN)
            return None
        return _every(each)

    def _branches(self, bodies: Sequence[Sequence[Statement]]) -> Fact | None:
        """Execute alternatives; one of them runs."""
        before, ends, returned = self.frame.names, list[dict[SymbolNode, Fact]](), list[Fact]()
        left = False
        with self.maybe():
            for body in bodies:
                self.frame.names = dict(before)
                value = self.execute(body)
                left |= value is LEFT
                if value is None or isinstance(value, _Maybe):
                    ends.append(self.frame.names)
                if value is not None and value is not RAISED and value is not LEFT:
                    returned.append(_without_raised(value))
        self.frame.names = _joined(ends) if ends else before
        result: Fact | None = None
        for value in returned:
            result = value if result is None else join(result, value)
        if ends:
            return _Maybe(result) if result is not None else None
        return _Ended(result) if result is not None else LEFT if left else RAISED

    def _for(self, s: ForStmt) -> Fact | None:
        sequence = self.evaluate(s.expr)
        items = self.iterate(sequence)
        if isinstance(items, list) and not items:
            return self.execute(s.else_body.body) if s.else_body else None
        leaves = any(isinstance(part, BreakStmt | ContinueStmt) for part in walk(s.body))
        if isinstance(items, list) and len(items) <= UNROLLED and not leaves and self.steps < STEPS // 2:
            return self._each(s, items)
        first = items[0] if isinstance(items, list) else items if isinstance(items, Fact) else UNKNOWN
        every = first
        for item in items[1:] if isinstance(items, list) else []:
            every = join(every, item)
        return self._loop(s.body.body, s.index, first, every)

    def _each(self, s: ForStmt, items: Sequence[Fact]) -> Fact | None:
        """Execute the body of a loop for each item."""
        returned: Fact | None = None
        for item in items:
            self.assign(s.index, item)
            value = self.execute(s.body.body)
            if isinstance(value, _Maybe):
                returned = value.value if returned is None else join(returned, value.value)
            elif value is not None:
                return value if returned is None else _Ended(join(returned, _without_raised(value)))
        rest = self.execute(s.else_body.body) if s.else_body is not None else None
        return rest if returned is None else _Maybe(returned) if rest is None else UNKNOWN

    def _while(self, s: WhileStmt) -> Fact | None:
        known = self.truth(s.expr)
        return self._loop(s.body.body, None, UNKNOWN, UNKNOWN) if known is not False else None

    def _loop(self, body: Sequence[Statement], index: Expression | None, first: Fact, every: Fact) -> Fact | None:
        """Execute a loop: its first step with the known facts, then more steps until the facts no longer change."""
        names, returned = self.frame.names, list[Fact]()
        leaves = any(isinstance(part, BreakStmt | ContinueStmt) for s in body for part in walk_statement(s))
        self.frame.names = dict(names)
        for step in range(4):
            before = dict(self.frame.names)
            if index is not None:
                self.assign(index, first if step == 0 else every)
            with self.maybe(step > 0):
                value = self.execute(body)
            if value is not None and value is not RAISED and value is not LEFT:
                returned.append(_without_raised(value))
            after = self.frame.names
            joined = {
                k: UNKNOWN
                if leaves and not is_same(before.get(k, UNKNOWN), v)
                else join(before[k], v)
                if k in before
                else v
                for k, v in after.items()
            }
            self.frame.names = joined
            if step > 0 and all(k in before and is_same(before[k], v) for k, v in joined.items()):
                break
        else:
            assigned = {k for k, v in self.frame.names.items() if not (k in names and is_same(names[k], v))}
            self.frame.names = {k: UNKNOWN if k in assigned else v for k, v in self.frame.names.items()}
        result: Fact | None = None
        for value in returned:
            result = value if result is None else join(result, value)
        return _Maybe(result) if result is not None else None

    def _with(self, s: WithStmt) -> Fact | None:
        raises = False
        for e, target in zip(s.expr, s.target, strict=True):
            self.evaluate(e)
            callee = e.callee if isinstance(e, CallExpr) else e
            raises |= getattr(callee, "name", "") in _RAISES
            if target is not None:
                self.assign(target, UNKNOWN)
        if not raises:
            return self.execute(s.body.body)
        return self._branches([s.body.body, []])

    def _try(self, s: TryStmt) -> Fact | None:
        if not s.handlers:
            value = self.execute(s.body.body)
        else:
            after = s.else_body.body if s.else_body is not None else []
            value = self._branches([[*s.body.body, *after], *(h.body for h in s.handlers)])
        last = self.execute(s.finally_body.body) if s.finally_body is not None else None
        return value if last is None else last

    def _assert(self, s: AssertStmt) -> None:
        self._assert_shape(s, s.expr)

    def _assert_shape(self, s: AssertStmt, e: Expression) -> None:
        if isinstance(e, OpExpr) and e.op == "and":
            self._assert_shape(s, e.left)
            return self._assert_shape(s, e.right)
        value = self.evaluate(e)
        if value != Const(False) or not isinstance(e, ComparisonExpr) or e.operators != ["=="]:
            return None
        shape = next((o for o in e.operands if isinstance(o, MemberExpr) and o.name == "shape"), None)
        if shape is None:
            return None
        with self.maybe():
            owner = self.evaluate(shape.expr)
        if isinstance(owner, Shaped) and owner.axes is not None:
            self.report(s, SHAPE, f"assert: the shape is {format_axes(owner.axes)} here")
        return None

    def _decorated(self, s: Decorator) -> None:
        value: Fact = Function(s.func, self.frame)
        for decorator in reversed(s.original_decorators):
            value = libraries.decorate(self, self.evaluate(decorator), value, s)
        for node in (s, s.var, s.func):
            self.frame.names[node] = value

    # ---- functions ----

    def call_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        node = f.node
        if self.declared_only and isinstance(node, FuncDef) and at is not node:
            declared = node.type.ret_type if isinstance(node.type, CallableType) else None
            return declared_value(declared, UNKNOWN) if declared is not None else UNKNOWN
        given_values = (*f.bound, *given.positional)
        is_simple = (
            f.frame.outer is None and not given.keywords and given.exact and all(map(is_immutable, given_values))
        )
        if not is_simple:
            return self._run_function(f, given, at)
        (key, used), is_elsewhere = key_of(self, node, given_values), path_of(node) is not None
        is_shared = self.shares and not self.declared_only and is_elsewhere
        known = self.results.get(key)
        if known is not None and known.version == changed[0] and (value := known.under(self, used)) is not None:
            if is_shared:
                self.sharing.called(key)
            return value
        if is_shared and (found := self.sharing.find(key, used)) is not None:
            return found
        before = changed[0], self.told if is_elsewhere else len(self.findings)
        if is_shared:
            result = self.sharing.compute(key, used, lambda: self._run_function(f, given, at))
        else:
            result = self._run_function(f, given, at)
        # a mistake in a function of another file is reported at each call
        if (changed[0], self.told if is_elsewhere else len(self.findings)) == before:
            self.results[key] = result_of(self, result, used)
        return result

    def _run_function(self, f: Function, given: Arguments, at: Context) -> Fact:
        node = f.node
        running = sum(n is node for n, _ in self.calls)
        is_too_deep = len(self.calls) >= DEEPEST or running > 1
        self.unshared += is_too_deep
        if is_too_deep or node.is_coroutine or not hasattr(node, "arguments"):
            for value in given.all():
                forget(value)
            return UNKNOWN
        if not self.uncertain:
            self.entered.add(node)
        frame, outer = Variables(f.frame), self.frame
        self._bind(f, given, frame)
        self.calls.append((node, at))
        self.deepest = max(self.deepest, len(self.calls))
        self.sharing.entered.add(node)
        self.frame = frame
        self.yields.append(yielded := Yields(self.uncertain))
        try:
            returned = self.execute(node.body.body)
        finally:
            self.frame = outer
            self.calls.pop()
            self.yields.pop()
        if node.is_generator:
            return list_of(yielded.values) if yielded.is_exact else Stream(reduce(join, yielded.values or [UNKNOWN]))
        is_partial = isinstance(returned, _Maybe)
        result = (
            NONE
            if returned is None
            else join(_without_raised(returned), NONE)
            if is_partial
            else _without_raised(returned)
        )
        declared = node.type.ret_type if isinstance(node.type, CallableType) else None
        return self._declared_result(node, declared, result) if declared is not None else result

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
        return self.declared(declared, value) if declared is not None else value

    def _declared_result(self, f: FuncDef | LambdaExpr, declared: Type, result: Fact) -> Fact:
        axes = axes_of(declared)
        if axes is None or not isinstance(result, Shaped) or result.axes is None:
            return self.declared(declared, result)
        differ = len(axes) != len(result.axes) or any(
            unify_axes(a, b) is None for a, b in zip(axes, result.axes, strict=True)
        )
        if differ and not any(map(is_variable, axes)):
            name = f.name if isinstance(f, FuncDef) else "lambda"
            returned = next((s for s in f.body.body if isinstance(s, ReturnStmt)), f)
            wrong = f"{name}: the result has the axes {format_axes(result.axes)}, and {format_axes(axes)} is declared"
            is_told = any(line == returned.line for line, _ in self.findings)  # a mistake in the value that is returned
            if returned not in self.misdeclared if path_of(returned) is not None else not is_told:
                self.report(returned, ERROR, wrong)
            self.misdeclared.add(returned)
        return declared_value(declared, result)


def _every(each: Sequence[bool | None]) -> bool | None:
    return False if False in each else None if None in each else True


class _Maybe(Fact):
    """A value that is returned on some paths; on others, execution continues."""

    def __init__(self, value: Fact) -> None:
        self.value = value


class _Ended(Fact):
    """A value that is certainly returned."""

    def __init__(self, value: Fact) -> None:
        self.value = value


class _Mark(Fact):
    pass


RAISED, LEFT = _Mark(), _Mark()


def _without_raised(value: Fact) -> Fact:
    return value.value if isinstance(value, _Ended | _Maybe) else UNKNOWN if isinstance(value, _Mark) else value


def _joined(frames: Sequence[dict[SymbolNode, Fact]]) -> dict[SymbolNode, Fact]:
    result = dict(frames[0])
    for frame in frames[1:]:
        for k in {*result, *frame}:
            result[k] = join(result[k], frame[k]) if k in result and k in frame else UNKNOWN
    return result


def walk_statement(s: Statement) -> Iterable[object]:
    """Iterate over the statements inside a statement."""
    return walk(s)
