"""Execution of the statements of a file and of its functions, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from mypy.nodes import (
    AssertStmt,
    AssignmentStmt,
    Block,
    BreakStmt,
    CallExpr,
    ClassDef,
    ComparisonExpr,
    ContinueStmt,
    Decorator,
    DelStmt,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    IndexExpr,
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
from mypy.operators import op_methods

from branded.mypy.analysis.source.walk import walk
from branded.mypy.codes import SHAPE
from branded.mypy.shapes import libraries
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.brands import check_iterable, check_truth
from branded.mypy.shapes.case_patterns import matches
from branded.mypy.shapes.function_bodies import LEFT, RAISED, Ended, FunctionCalls, Maybe, without_raised
from branded.mypy.shapes.rules import descriptors
from branded.mypy.shapes.rules.iterables import check_known_count, unpack
from branded.mypy.shapes.state import STEPS, OutOfSteps
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
    changed,
    forget,
    is_any_axis,
    is_same,
    join,
)

UNROLLED = 8
"""The maximum number of loop steps that are executed one by one."""
_RAISES = ("raises", "suppress", "assertRaises", "warns")


class Interpreter(FunctionCalls):
    """Follows a file from its first statement to its last, then the functions that were not called, callers first."""

    def follow_alone(self, f: Function) -> None:
        """Follow one function, of whose arguments only the declared types are known."""
        try:
            self.call_function(Function(f.node, f.frame), Arguments(exact=False), f.node)
        except (OutOfSteps, RecursionError):
            self.calls.clear()

    def run(self) -> None:
        try:
            self.execute(list(self.tree.defs))
            for f in _callers_first(list(self._functions(self.tree.defs))):
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

    def execute(self, statements: Sequence[Statement]) -> Fact | None:
        """Execute statements; return the value that is returned, or None if the end is reached."""
        returned: Fact | None = None
        for s in statements:
            value = self.statement(s)
            if value is None or isinstance(value, Maybe):
                if value is not None:
                    returned = value.value if returned is None else join(returned, value.value)
                continue
            if returned is None:
                return value
            return Ended(returned if value is RAISED else join(returned, without_raised(value)))
        return None if returned is None else Maybe(returned)

    def statement(self, s: Statement) -> Fact | None:
        match s:
            case ExpressionStmt():
                self.evaluate(s.expr)
            case AssignmentStmt():
                self._assignment(s)
            case OperatorAssignmentStmt():
                left, right = self.evaluate(s.lvalue), self.evaluate(s.rvalue)
                result = self.special(left, f"__i{op_methods[s.op].removeprefix('__')}", [right], s)
                if isinstance(left, Mutable) and left.kind != "object":
                    left.forget()
                if result is None:
                    result = self.binary(s.op, left, right, s, s.lvalue, s.rvalue)
                self.assign(s.lvalue, result)
            case DelStmt(expr=IndexExpr() as e):
                owner = self.evaluate(e.base)
                if self.special(owner, "__delitem__", [self.evaluate(e.index)], e) is None:
                    forget(owner)
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
                self._assert(s, s.expr)
            case FuncDef():
                for argument in s.arguments if self.calls else []:
                    self.evaluate(argument.initializer)
                self.frame.names[s] = Function(s, self.frame)
            case Decorator():
                self._decorated(s)
            case OverloadedFuncDef(impl=FuncDef() | Decorator() as f):
                self.statement(f)
                self.frame.names[s] = self.frame.names[f]
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
            if isinstance(target, TupleExpr):
                check_known_count(self, target, s.rvalue, value)
            declared = node.type if isinstance(node, Var) and s.type is not None else None
            kept = self.declared_variable(s, target, declared, value) if declared is not None else value
            is_unnamed = isinstance(kept, Size) and is_any_axis(kept.axis)
            if is_unnamed and isinstance(target, NameExpr):
                kept = self.symbol(target.name, s.line)
            self.assign(target, kept)

    def assign(self, target: Expression, value: Fact) -> None:
        match target:
            case NameExpr() if target.node is not None:
                self._set(target.node, value)
            case TupleExpr() | ListExpr():
                unpack(self, target.items, value, target)
            case StarExpr():
                self.assign(target.expr, value)
            case MemberExpr():
                owner = self.evaluate(target.expr)
                if isinstance(owner, Mutable) and descriptors.write(self, owner, target.name, value, target):
                    return
                if isinstance(owner, Mutable) and owner.items is not None:
                    owner.changes()
                    old = owner.items.get(target.name, UNKNOWN)
                    owner.items[target.name] = join(old, value) if self.uncertain else value
                    self.stored(owner, target.name, target)
            case IndexExpr():
                owner, index = self.evaluate(target.base), self.evaluate(target.index)
                if self.special(owner, "__setitem__", [index, value], target) is not None:
                    return
                if not isinstance(owner, Mutable) or owner.items is None:
                    return
                key = index.value if isinstance(index, Const) else None
                if key is None or (key not in owner.items and (self.uncertain or owner.kind == "list")):
                    owner.forget()
                else:
                    owner.changes()
                    owner.items[key] = join(owner.items[key], value) if self.uncertain else value
                    self.stored(owner, key, target)

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
            known = matches(self, pattern, subject)
            if known is False:
                continue
            if guard is not None:
                self.truth(guard)
                known = None
            if known and not possible:
                return self.execute(body.body)
            possible.append(body.body)
            if known:
                return self._branches(possible)
        return self._branches([*possible, []])

    def _branches(self, bodies: Sequence[Sequence[Statement]]) -> Fact | None:
        """Execute alternatives; one of them runs."""
        before, ends, returned = self.frame.names, list[dict[SymbolNode, Fact]](), list[Fact]()
        left = False
        with self.maybe():
            for body in bodies:
                self.frame.names = dict(before)
                value = self.execute(body)
                left |= value is LEFT
                if value is None or isinstance(value, Maybe):
                    ends.append(self.frame.names)
                if value is not None and value is not RAISED and value is not LEFT:
                    returned.append(without_raised(value))
        self.frame.names = reduce(_join_names, ends) if ends else before
        if ends:
            return Maybe(reduce(join, returned)) if returned else None
        return Ended(reduce(join, returned)) if returned else LEFT if left else RAISED

    def _for(self, s: ForStmt) -> Fact | None:
        sequence = self.evaluate(s.expr)
        check_iterable(self, sequence, s.expr)
        items = self.iterate(sequence)
        if isinstance(items, list) and not items:
            return self.execute(s.else_body.body) if s.else_body else None
        leaves = any(isinstance(part, BreakStmt | ContinueStmt) for part in walk(s.body))
        if isinstance(items, list) and len(items) <= UNROLLED and not leaves and self.steps < STEPS // 2:
            return self._each(s, items)
        first = items[0] if isinstance(items, list) else items if isinstance(items, Fact) else UNKNOWN
        every = reduce(join, items) if isinstance(items, list) else first
        return self._loop(s.body.body, s.index, first, every)

    def _each(self, s: ForStmt, items: Sequence[Fact]) -> Fact | None:
        """Execute the body of a loop for each item."""
        returned: Fact | None = None
        for item in items:
            self.assign(s.index, item)
            value = self.execute(s.body.body)
            if isinstance(value, Maybe):
                returned = value.value if returned is None else join(returned, value.value)
            elif value is not None:
                return value if returned is None else Ended(join(returned, without_raised(value)))
        rest = self.execute(s.else_body.body) if s.else_body is not None else None
        return rest if returned is None else Maybe(returned) if rest is None else UNKNOWN

    def _while(self, s: WhileStmt) -> Fact | None:
        known = self.truth(s.expr)
        return self._loop(s.body.body, None, UNKNOWN, UNKNOWN) if known is not False else None

    def _loop(self, body: Sequence[Statement], index: Expression | None, first: Fact, every: Fact) -> Fact | None:
        """Execute a loop: its first step with the known facts, then more steps until the facts no longer change."""
        names, returned = self.frame.names, list[Fact]()
        leaves = any(isinstance(part, BreakStmt | ContinueStmt) for s in body for part in walk(s))
        self.frame.names = dict(names)
        for step in range(4):
            before = dict(self.frame.names)
            if index is not None:
                self.assign(index, first if step == 0 else every)
            with self.maybe(step > 0):
                value = self.execute(body)
            if value is not None and value is not RAISED and value is not LEFT:
                returned.append(without_raised(value))
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
        return Maybe(reduce(join, returned)) if returned else None

    def _with(self, s: WithStmt) -> Fact | None:
        raises, managers = False, list[Fact]()
        for e, target in zip(s.expr, s.target, strict=True):
            value = self.evaluate(e)
            callee = e.callee if isinstance(e, CallExpr) else e
            raises |= getattr(callee, "name", "") in _RAISES
            entered = self._entered(value, e)
            managers.append(value)
            if target is not None:
                self.assign(target, entered)
        result = self._branches([s.body.body, []]) if raises else self.execute(s.body.body)
        for value in reversed(managers):
            self.special(value, "__exit__", [UNKNOWN] * 3, s)
        return result

    def _entered(self, value: Fact, at: Expression) -> Fact:
        """Return the value that `with` assigns."""
        if not isinstance(value, Mutable) or value.kind == "brand":
            return value if isinstance(value, Mutable) else UNKNOWN
        if value.kind == libraries.ENTERED:
            return value.items[0] if value.items else UNKNOWN
        methods = [self.from_class(value, name, at) for name in ("__enter__", "__aenter__")]
        return next((self.call(m, Arguments(), at) for m in methods if isinstance(m, Function)), UNKNOWN)

    def _try(self, s: TryStmt) -> Fact | None:
        if not s.handlers:
            value = self.execute(s.body.body)
        else:
            after = s.else_body.body if s.else_body is not None else []
            value = self._branches([[*s.body.body, *after], *(h.body for h in s.handlers)])
        last = self.execute(s.finally_body.body) if s.finally_body is not None else None
        return value if last is None else last

    def _assert(self, s: AssertStmt, e: Expression) -> None:
        """Report `assert x.shape == (4, 3)` for another shape, and `assert x > 0` for a batched value."""
        if isinstance(e, OpExpr) and e.op == "and":
            self._assert(s, e.left)
            return self._assert(s, e.right)
        value = self.evaluate(e)
        check_truth(self, value, e)
        if value != Const(False) or not isinstance(e, ComparisonExpr) or e.operators != ["=="]:
            return None
        shape = next((o for o in e.operands if isinstance(o, MemberExpr) and o.name == "shape"), None)
        if shape is not None:
            with self.maybe():
                owner = self.evaluate(shape.expr)
            if isinstance(owner, Shaped) and owner.axes is not None:
                problem = f"assert: the shape is {format_axes(owner.axes)} here"
                self.report(e, SHAPE, problem, stored=self.lines_of_value(shape.expr))
        return None

    def _decorated(self, s: Decorator) -> None:
        value: Fact = Function(s.func, self.frame)
        for decorator in reversed(s.original_decorators):
            value = libraries.decorate(self, self.evaluate(decorator), value, s)
        for node in (s, s.var, s.func):
            self.frame.names[node] = value


def _callers_first(functions: Sequence[FuncDef]) -> list[FuncDef]:
    """Sort functions so that those that others call come last: their callers enter them with better known arguments."""
    parts = (part for f in functions for part in walk(f.body))
    called = {part.name for part in parts if isinstance(part, NameExpr | MemberExpr)}
    return sorted(functions, key=lambda f: f.name in called or f.name.startswith("__"))


def _join_names(a: dict[SymbolNode, Fact], b: dict[SymbolNode, Fact]) -> dict[SymbolNode, Fact]:
    return {k: join(a[k], b[k]) if k in a and k in b else UNKNOWN for k in a | b}
