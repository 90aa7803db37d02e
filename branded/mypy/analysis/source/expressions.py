"""Following the expressions in the body of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from branded.mypy.analysis.source.calls import BodyCalls
from branded.mypy.analysis.source.searches import identity_searches
from branded.mypy.analysis.source_digest import file_version
from branded.mypy.rows.batch_kinds import BatchKind, display_kind, either_kind, entry_kind, join_kinds


class BodyExpressions(BodyCalls):
    """Follows the expressions in a body."""

    def branches(self, test: ast.expr, body: Callable[[], bool], orelse: Callable[[], bool]) -> None:
        """Follow a test and its branches; continue with the values of the branches that do not leave."""
        self.test(test)
        before, after = dict(self.env), []
        for branch, is_true in ((body, True), (orelse, False)):
            self.env = {**before, **dict.fromkeys(_plain_where(test, is_true), BatchKind.PLAIN)}
            if not branch():
                after.append(self.env)
        self.env = join_kinds(*after) if after else before

    def value(self, e: ast.expr) -> BatchKind:
        """Follow an expression, and return its kind."""
        match e:
            case ast.Name(id=name):
                return self.env.get(name, BatchKind.PLAIN)
            case ast.Attribute(value=base, attr=attr):
                kind = self.value(base)
                if (made := self.object_of(base)) is not None:
                    return self.member_of(made, attr, e)
                return self.of_method(attr, kind, kind) if kind else kind
            case ast.Subscript(value=base, slice=index):
                whole, chosen = self.value(base), min(self.value(index), BatchKind.HOLDS)
                return max(whole if isinstance(index, ast.Slice) else entry_kind(whole), chosen)
            case ast.BoolOp(values=[*tested, last]):
                return max([*map(self.test, tested), self.value(last)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
                return BatchKind.PLAIN
            case ast.UnaryOp(operand=operand):
                return self.value(operand)
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                self.value(right)
                return BatchKind.PLAIN
            case ast.BinOp(left=left, right=right):
                kinds = [self.value(left), self.value(right)]
                return (
                    min(max(kinds), BatchKind.HOLDS) if BatchKind.ENTRIES in kinds and len({*kinds}) > 1 else max(kinds)
                )
            case ast.Compare():
                return self.comparison(e)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen_kinds: list[BatchKind] = []
                self.branches(test, lambda: self.keep(chosen_kinds, body), lambda: self.keep(chosen_kinds, orelse))
                return either_kind(chosen_kinds)
            case ast.Call():
                return self.called(e)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return display_kind([self.value(item) for item in items])
            case ast.Dict(keys=keys, values=values):
                return min(self.most([*keys, *values]), BatchKind.HOLDS)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return self.most([lower, upper, step])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return display_kind([self.entries(e, [e.elt])])
            case ast.DictComp(key=key, value=value):
                return min(self.entries(e, [key, value]), BatchKind.HOLDS)
            case ast.Starred(value=value) | ast.NamedExpr(value=value):
                kind = self.value(value)
                if isinstance(e, ast.NamedExpr):
                    self.assign(e.target, kind)
                return kind
            case ast.JoinedStr(values=values):
                for v in values:
                    if isinstance(v, ast.FormattedValue) and self.value(v.value) is BatchKind.BATCHED and v.format_spec:
                        self.read("format", ast.copy_location(ast.JoinedStr([v]), e))
            case ast.Await(value=value) | ast.YieldFrom(value=value):
                return self.value(value)
            case ast.Yield(value=optional):
                return self.optional(optional)
        return BatchKind.PLAIN

    def optional(self, e: ast.expr | None) -> BatchKind:
        return BatchKind.PLAIN if e is None else self.value(e)

    def most(self, parts: Iterable[ast.expr | None]) -> BatchKind:
        return max([self.optional(p) for p in parts], default=BatchKind.PLAIN)

    def test(self, e: ast.expr) -> BatchKind:
        """Follow an expression whose truth value is needed."""
        if isinstance(e, ast.BoolOp):
            return max([self.test(v) for v in e.values])
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.test(e.operand)
        if (kind := self.value(e)) is BatchKind.BATCHED:
            self.read("bool", e)
        self.special(e, e, "__bool__")
        return kind

    def keep(self, kinds: list[BatchKind], e: ast.expr) -> bool:
        kinds.append(self.value(e))
        return False

    def entries(self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, of: list[ast.expr]) -> BatchKind:
        """Return the kind of a comprehension's entries."""
        before = dict(self.env)
        for c in e.generators:
            self.assign(c.target, entry_kind(self.value(c.iter)))
            for test in c.ifs:
                self.test(test)
        kind = self.most(of)
        self.env = before
        return kind

    def comparison(self, e: ast.Compare) -> BatchKind:
        kinds = [self.value(v) for v in (e.left, *e.comparators)]
        kind = BatchKind.PLAIN
        for op, left, right, node in zip(e.ops, kinds, kinds[1:], e.comparators, strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                # sets compare hashes first
                if left is BatchKind.BATCHED and isinstance(node, ast.List | ast.Tuple):
                    path = self.module.path
                    if ("Compare", e.lineno, e.col_offset) not in identity_searches(path, file_version(path)):
                        self.read("bool", e)
            elif not isinstance(op, ast.Is | ast.IsNot):
                kind = max(left, right)
                if kind is BatchKind.BATCHED and len(e.ops) > 1 and op is not e.ops[-1]:
                    self.read("bool", e)
        return kind


def _plain_where(test: ast.expr, is_true: bool) -> Iterator[str]:
    """Find the names that hold no batched tensor if a test is true or false: `b is None`, `isinstance(x, float)`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _plain_where(operand, not is_true)
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
        ):
            if isinstance(op, ast.Is) is is_true:
                yield name
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name(id="Tensor")]):
            if not is_true:
                yield name
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable"), args=[ast.Name(id=name), *_]):
            yield name
        case ast.BoolOp(values=values):
            for v in values:
                yield from _plain_where(v, is_true)
