"""When a file is followed: after mypy has checked it, by a call injected at its end."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, ExpressionStmt, MypyFile, TempNode
from mypy.plugin import FunctionContext
from mypy.types import CallableType, NoneType, Type

from branded.mypy.codes import ERROR
from branded.mypy.rows.brand_env import OpenBrands, checker, fail
from branded.mypy.shapes.execute import Interpreter

END = "<end of file>"


def follow_at_end(api: TypeChecker) -> None:
    """Let the plugin be called when mypy has checked the statements of this file."""
    tree = api.tree
    if tree.is_stub or not tree.defs or _is_end(tree):
        return
    callee = TempNode(CallableType([], [], [], NoneType(), api.named_type("builtins.function"), name=END))
    call = CallExpr(callee, [], [], [])
    statement = ExpressionStmt(call)
    for node in (callee, call, statement):
        node.set_line(tree.defs[-1])
    tree.defs.append(statement)


def _is_end(tree: MypyFile) -> bool:
    last = tree.defs[-1]
    callee = last.expr.callee if isinstance(last, ExpressionStmt) and isinstance(last.expr, CallExpr) else None
    return isinstance(callee, TempNode) and isinstance(callee.type, CallableType) and callee.type.name == END


def report_shapes(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Report the mistakes of a file that the shapes of its data show, at lines where mypy reports none."""
    api = checker(ctx)
    interpreter = Interpreter(api.tree, scope)
    interpreter.run()
    reported = {e.line for e in api.errors.error_info_map.get(api.errors.file, ()) if e.severity == "error"}
    for f in interpreter.findings.values():
        if f.at.line in reported:
            continue
        if f.is_note:
            api.note(f.message, f.at, code=ERROR)
        else:
            fail(api, f.at, f.code, f.message, *f.notes)
    return ctx.default_return_type
