"""Following batched values through the statements of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from branded.mypy.analysis.source.expressions import BodyExpressions
from branded.mypy.rows.batch_kinds import BatchKind, entry_kind, join_kinds


class FunctionBody(BodyExpressions):
    """Follows the statements of one function."""

    def statements(self, body: Iterable[ast.stmt]) -> bool:
        """Follow statements, and return whether the last one leaves the block."""
        for s in body:
            if self.finder.found:
                return True
            if self.statement(s):
                return True
        return False

    def statement(self, s: ast.stmt) -> bool:
        match s:
            case ast.Return(value=value):
                self.returned.append(self.optional(value))
                self.made.append(self.object_of(value) if value is not None else None)
                return True
            case ast.Raise(exc=value):
                self.optional(value)
                return True
            case ast.Continue() | ast.Break():
                return True
            case ast.Assign(targets=targets, value=value):
                kind = self.value(value)
                for t in targets:
                    if isinstance(t, ast.Tuple) and isinstance(value, ast.Tuple) and len(t.elts) == len(value.elts):
                        for item, k in zip(t.elts, [self.value(v) for v in value.elts], strict=True):
                            self.assign(item, k)
                    else:
                        self.set_target(t, value, kind)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.set_target(target, value, self.value(value))
            case ast.AugAssign(target=target, value=value):
                self.assign(target, max(self.value(value), self.value(target)))
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assert(test=test):
                self.test(test)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branches(test, lambda: self.statements(body), lambda: self.statements(orelse))
            case ast.While(test=test, body=body, orelse=orelse):
                for _ in range(2):  # the second time with the values that the body has assigned
                    self.branches(test, lambda: self.statements(body), lambda: False)
                self.statements(orelse)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                kind = self.value(iterable)
                for _ in range(2):
                    before = dict(self.env)
                    self.assign(target, entry_kind(kind))
                    self.statements(body)
                    self.env = join_kinds(before, self.env)
                self.statements(orelse)
            case ast.With(items=items, body=body):
                for opened in items:
                    kind = self.value(opened.context_expr)
                    if opened.optional_vars is not None:
                        self.assign(opened.optional_vars, kind)
                return self.statements(body)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                before = dict(self.env)
                self.statements([*body, *orelse])
                after = [self.env]
                for h in handlers:
                    self.env = join_kinds(before, after[0])
                    self.statements(h.body)
                    after.append(self.env)
                self.env = join_kinds(*after)
                return self.statements(final)
            case ast.Match(subject=subject, cases=cases):
                self.match(subject, cases)
            case ast.FunctionDef(name=name):
                self.env[name] = BatchKind.PLAIN
                self.nested[name] = s
        return False

    def match(self, subject: ast.expr, cases: Sequence[ast.match_case]) -> None:
        kind, before = self.value(subject), dict(self.env)
        after = [before]
        for c in cases:
            self.env = dict(before)
            values = c.pattern.patterns if isinstance(c.pattern, ast.MatchOr) else [c.pattern]
            if kind is BatchKind.BATCHED and any(isinstance(p, ast.MatchValue) for p in values):
                self.read("bool", c.pattern)
            for n in ast.walk(c.pattern):
                if isinstance(n, ast.MatchAs | ast.MatchStar) and n.name is not None:
                    self.env[n.name] = min(kind, BatchKind.HOLDS)
            if c.guard is not None:
                self.test(c.guard)
            if not self.statements(c.body):
                after.append(self.env)
        self.env = join_kinds(*after)
