"""Calls injected into a file, which make mypy call the plugin where it has no hook.

mypy has no hook for truth values and patterns. The injected calls only trigger the plugin; those of `injected_values`
change the type of an expression. They are added to files with `Vec` or `Tensor` in an annotation, and to files
that call vmap, from the first call on.

    match x:                <match>(x, (Tensor,), ())   checks whether x varies: then the pattern Tensor means Vec
        case Tensor(): ...  match x: ...
    if b: ...               <test>(b)                   checks whether b may vary: a `Vec[S, Tensor] | None`
    return b or a           <operands>(b or a)          the same for the operands that are tested, here b
    [b for b in bs if b]    [... if <test>(b) if b]     the same in a comprehension, as a further condition
    in_axes=State(0, None)  in_axes=State(<Any>(0), <Any>(None)), also where the tree is a variable
    Point(x=a, y=b)         <fields>(x=a, y=b)          a TypedDict whose items vary, in a file without `Vec`
    match x:                <case>(x, "[]", "[1]")      the same for x and x[1], which are compared with a number
        case 0: ...
        case (_, 1): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mypy.checker import TypeChecker
from mypy.errors import Errors
from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_STAR,
    AssertStmt,
    AssignmentExpr,
    AssignmentStmt,
    Block,
    CallExpr,
    CastExpr,
    ClassDef,
    ConditionalExpr,
    Context,
    Decorator,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    LambdaExpr,
    MatchStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    OverloadedFuncDef,
    RefExpr,
    ReturnStmt,
    Statement,
    SymbolNode,
    TempNode,
    TypeInfo,
    UnaryExpr,
    Var,
    WhileStmt,
    WithStmt,
)
from mypy.plugin import AnalyzeTypeContext
from mypy.semanal import SemanticAnalyzer
from mypy.typeanal import TypeAnalyser
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny

from branded.mypy.analysis.source.walk import parts, walk
from branded.mypy.analysis.untyped_modules import is_untyped_module
from branded.mypy.rows.algebra import holds_tensors
from branded.mypy.rows.injected_values import (
    WITH_DISPLAYS,
    find_calls,
    inject_displays,
    inject_function,
    injected_call,
    is_injected,
)
from branded.mypy.rows.match_patterns import compared_paths, tensor_classes

MATCH = "<match>"
TEST, OPERANDS, CASE, FIELDS = "<test>", "<operands>", "<case>", "<fields>"
LAST = 1000
"""A priority after the patches that mypy itself schedules for the end of semantic analysis."""


class Marks:
    """The files with injected calls."""

    def __init__(self, append_end: Callable[[MypyFile, Instance], None]) -> None:
        self._marked: dict[str, MypyFile] = {}
        self._append_end = append_end

    def _inject(self, tree: MypyFile, asks: CallableType) -> None:
        inject_calls(tree, asks)
        self._append_end(tree, asks.fallback)

    def inject_from(self, at: Context, api: TypeChecker) -> None:
        """Inject the calls into a file that mypy is checking and that has no annotation of a tensor."""
        if self._marked.get(api.tree.path) is not api.tree and not api.tree.is_stub:
            self._marked[api.tree.path] = api.tree
            inject_calls(api.tree, _asking(api.named_type), at)

    def analyze(self, ctx: AnalyzeTypeContext, info: TypeInfo) -> Type:
        """Return the usual type for `Vec[S]` or `Tensor` in an annotation, and schedule the injection for the file."""
        assert isinstance(ctx.api, TypeAnalyser)
        api = ctx.api.api
        if isinstance(api, SemanticAnalyzer) and hasattr(api, "patches"):
            tree = api.cur_mod_node
            is_checked = not tree.is_stub and not is_silent_library(tree, api.errors)
            if self._marked.get(tree.path) is not tree and is_checked:
                self._marked[tree.path] = tree
                asks = _asking(api.named_type)
                api.schedule_patch(LAST, lambda: self._inject(tree, asks))
        return ctx.api.analyze_type_with_type_info(info, ctx.type.args, ctx.type, ctx.type.empty_tuple_index)


def is_silent_library(tree: MypyFile, errors: Errors) -> bool:
    """Return whether the current file is one of an installed branded or tinygrad, whose errors mypy does not report."""
    is_ignored = tree.path in errors.ignored_files and not errors.options.ignore_errors
    return is_ignored and tree.fullname.startswith(("branded.", "tinygrad."))


def _asking(named_type: Callable[[str], Instance]) -> CallableType:
    """Return the type of an injected function that tests a value."""
    result, function = named_type("builtins.bool"), named_type("builtins.function")
    return CallableType([named_type("builtins.object")], [ARG_STAR], [None], result, function)


def inject_calls(tree: MypyFile, asks: CallableType, at: Context | None = None) -> None:
    """Inject calls of functions with the type `asks` into a file after semantic analysis.

    If mypy is checking the expression `at`, the statements around it and before it stay where they are.
    """
    is_untyped = is_untyped_module(tree)
    variables = set[SymbolNode | None]()
    for body in _statements_to_mark(tree.defs):
        nodes = list(walk(body))
        has_tests = any(map(_is_test, nodes))
        for node in nodes:
            if type(node) is CallExpr and is_untyped:
                _replace_typed_dict(node, asks)
                inject_function(node, asks.fallback)
            elif type(node) is LambdaExpr and is_untyped:
                find_calls(node)
            if type(node) is Block and has_tests:
                _inject_before_statements(node.body, asks, _first_after(at, node.body))
            elif type(node) in _COMPREHENSIONS:
                _inject_conditions(node, asks)
            elif type(node) is CallExpr and not _AXES.isdisjoint(node.arg_names):
                for axes in (e for e, name in zip(node.args, node.arg_names, strict=True) if name in _AXES):
                    _accept_axes(axes)
                    variables |= {e.node for e in walk(axes) if isinstance(e, NameExpr) and isinstance(e.node, Var)}
            if type(node) in WITH_DISPLAYS:
                inject_displays(node, asks.fallback)
    if variables:
        for s in walk(tree.defs):
            if isinstance(s, AssignmentStmt) and any(
                isinstance(e, NameExpr) and e.node in variables for e in s.lvalues
            ):
                _accept_axes(s.rvalue)
    _inject_before_statements(tree.defs, asks, _first_after(at, tree.defs))


def _first_after(at: Context | None, statements: Sequence[Statement]) -> int:
    """Return the index of the first statement after the one that contains `at`; 0 if none contains it."""
    return next((i for i, s in enumerate(statements, 1) if at is not None and any(n is at for n in walk(s))), 0)


_AXES = {"in_axes", "out_axes"}


def _accept_axes(axes: Expression) -> None:
    """Accept `in_axes=(State(0, None),)`: in a tree of axes, ints and None replace the tensors of a class."""
    for part in walk(axes):
        if isinstance(part, CallExpr) and isinstance(part.callee, RefExpr) and isinstance(part.callee.node, TypeInfo):
            part.args[:] = [a if isinstance(a, CallExpr) else _as_any(a) for a in part.args]


def _replace_typed_dict(call: CallExpr, asks: CallableType) -> None:
    """Replace the class in `Point(x=a, y=b)`, a TypedDict of tensors: mypy has no hook for it."""
    info = call.callee.node if isinstance(call.callee, RefExpr) else None
    t = info.typeddict_type if isinstance(info, TypeInfo) and not info.defn.type_vars else None
    if t is None or any(k is not ARG_NAMED for k in call.arg_kinds) or not holds_tensors(t):
        return
    if t.required_keys <= set(call.arg_names) <= t.items.keys():
        kinds = [ARG_NAMED if n in t.required_keys else ARG_NAMED_OPT for n in t.items]
        f = CallableType(asks.arg_types * len(kinds), kinds, list(t.items), t, asks.fallback, name=FIELDS)
        call.callee = TempNode(f, context=call.callee)


def _as_any(e: Expression) -> CastExpr:
    cast = CastExpr(e, AnyType(TypeOfAny.explicit))
    cast.set_line(e)
    return cast


def _statements_to_mark(statements: Iterable[Node]) -> Iterator[Node]:
    """Find the statements of a file. In classes, find only the bodies of methods."""
    for s in statements:
        match s:
            case ClassDef():
                yield from (b for b in _statements_to_mark(s.defs.body) if isinstance(b, Block))
            case Decorator():
                yield s.func.body
            case OverloadedFuncDef():
                yield from _statements_to_mark(s.items)
            case FuncDef():
                yield s.body
            case _:
                yield s


def _inject_before_statements(statements: list[Statement], asks: CallableType, first: int) -> None:
    for i in reversed(range(first, len(statements))):
        s = statements[i]
        for call in _injected_calls(_injections(s), asks):
            mark = ExpressionStmt(call)
            mark.set_line(s)
            statements.insert(i, mark)


_TESTS = {AssertStmt, ConditionalExpr, IfStmt, MatchStmt, WhileStmt}


def _is_test(node: Node) -> bool:
    """Return whether a node tests a value, so that a call may be injected before its statement."""
    if type(node) is OpExpr or type(node) is UnaryExpr:
        return node.op in ("and", "or", "not")
    return type(node) in _TESTS


_COMPREHENSIONS = {GeneratorExpr, DictionaryComprehension}


def _inject_conditions(node: Node, asks: CallableType) -> None:
    """Inject calls into a comprehension as conditions: before each condition, and for the entries after the last."""
    assert isinstance(node, GeneratorExpr | DictionaryComprehension)
    for conditions in node.condlists:
        conditions[:] = [c for e in conditions for c in (*_injected_calls(_test_parts(e), asks), e)]
    entries = [node.left_expr] if isinstance(node, GeneratorExpr) else [node.key, node.value]
    for e in entries:
        if e is not None:  # the key of `{**d for d in ds}`
            node.condlists[-1].extend(_injected_calls(_boolean_parts(e), asks))
    for i, sequence in enumerate(node.sequences[1:]):
        node.condlists[i].extend(_injected_calls(_boolean_parts(sequence), asks))


Injection = tuple[str, list[Expression]]
"""The name and the arguments of a call to inject."""


def _injected_calls(injections: Iterable[Injection], asks: CallableType) -> list[Expression]:
    return [
        injected_call(name, asks, args, args[0])
        for name, args in injections
        if not _assigns(args[0])  # it would be assigned twice
    ]


def _injections(s: Statement) -> Iterator[Injection]:
    """Find the calls to inject before a statement."""
    match s:
        case MatchStmt():
            if paths := list(compared_paths(s.patterns)):
                yield CASE, [s.subject, *paths]
            classes = tensor_classes(s)
            if any(t.items for t in classes):
                yield MATCH, [s.subject, *classes]
            yield from _boolean_parts(s.subject)
        case IfStmt() | WhileStmt() | AssertStmt():
            for test in s.expr if isinstance(s.expr, list) else [s.expr]:
                yield from _test_parts(test)
        case AssignmentStmt() | OperatorAssignmentStmt():
            yield from _boolean_parts(s.rvalue)
        case ForStmt():
            yield from _boolean_parts(s.expr)
        case ExpressionStmt() | ReturnStmt() if s.expr is not None:
            yield from _boolean_parts(s.expr)
        case WithStmt(expr=opened):
            for e in opened:
                yield from _boolean_parts(e)


def _assigns(e: Expression) -> bool:
    return any(isinstance(part, AssignmentExpr) for part in walk(e))


def _test_parts(e: Expression) -> Iterator[Injection]:
    """Find the operators of truth values in a condition, which is one itself."""
    match e:
        case AssignmentExpr():
            yield from _test_parts(e.value)
        case UnaryExpr(op="not"):
            yield from _test_parts(e.expr)
        case OpExpr(op="and" | "or") if _assigns(e):
            yield from _test_parts(e.left)
        case _ if any(map(_is_simple_operand, tested_operands(e))):
            yield TEST, [e]
        case _:
            yield from _boolean_parts(e)


def _boolean_parts(e: Expression) -> Iterator[Injection]:
    """Find the operators of truth values in an expression, without those within other such operators."""
    match e:
        case LambdaExpr():
            return
        case GeneratorExpr() | DictionaryComprehension():
            yield from _boolean_parts(e.sequences[0])
        case ConditionalExpr():
            yield from _test_parts(e.cond)
        case OpExpr(op="and" | "or") if _assigns(e):
            yield from _test_parts(e.left)
        case OpExpr(op="and" | "or"):
            if any(map(_is_simple_operand, tested_operands(e, is_tested=False))):
                yield OPERANDS, [e]
        case UnaryExpr(op="not"):
            yield from _test_parts(e.expr)
        case _:
            for part in parts(e):
                for inner in part if isinstance(part, list) else [part]:
                    if isinstance(inner, Expression):
                        yield from _boolean_parts(inner)


def tested_operands(e: Expression, is_tested: bool = True) -> Iterator[Expression]:
    """Find the operands whose truth value an expression needs; `is_tested` if its own is needed too."""
    match e:
        case OpExpr(op="and" | "or"):
            yield from tested_operands(e.left)
            yield from tested_operands(e.right, is_tested)
        case UnaryExpr(op="not"):
            yield from tested_operands(e.expr)
        case _ if is_tested:
            yield e


def _is_simple_operand(e: Expression) -> bool:
    """Return whether an operand may be an optional tensor; other calls of the plugin find comparisons."""
    if isinstance(e, CallExpr):
        is_built_in = isinstance(e.callee, RefExpr) and e.callee.fullname.startswith("builtins.")
        return not is_built_in and not any(isinstance(n, LambdaExpr) for n in walk(e))
    return isinstance(e, NameExpr | MemberExpr | IndexExpr) and not _is_constant(e)


def _is_constant(e: Expression) -> bool:
    return isinstance(e, NameExpr) and e.name in ("True", "False", "None", "TYPE_CHECKING", "__debug__")


def update_copy(f: FuncDef) -> None:
    """Update the injected calls in a copy of a function to refer to the copy's own patterns and tests."""
    for block in walk(f.body):
        marks: list[CallExpr] = []
        for s in block.body if isinstance(block, Block) else ():
            mark = s.expr if isinstance(s, ExpressionStmt) else None
            if isinstance(mark, CallExpr) and any(is_injected(mark, name) for name in (MATCH, TEST, OPERANDS, CASE)):
                marks.append(mark)
                continue
            own = [args for _, args in _injections(s) if not _assigns(args[0])] if marks else []
            if [len(m.args) for m in marks] == [len(args) for args in own]:
                for m, args in zip(marks, own, strict=True):
                    m.args[:] = args
            marks = []
