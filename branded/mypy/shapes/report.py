"""Start the analysis of a file, by a call at its end that runs after mypy has checked the rest of the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mypy.checker import TypeChecker
from mypy.errorcodes import ARG_TYPE, INDEX
from mypy.nodes import CallExpr, ExpressionStmt, Import, ImportAll, ImportFrom, MypyFile, TempNode
from mypy.plugin import FunctionContext
from mypy.types import CallableType, Instance, NoneType, Type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source_digest import file_version, parse
from branded.mypy.codes import AXES, ERROR, ESCAPE, NAME_TAKEN, OPERAND, READ
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.consequences import hide_consequences
from branded.mypy.rows.reporting import Replaceable, checker, fail, give_way, trying
from branded.mypy.shapes.execute import Interpreter
from branded.mypy.shapes.other_files import path_of
from branded.mypy.shapes.state import ShapeMistake

END = "<end of file>"
FOUND_BY_TYPES = (AXES, ERROR, ESCAPE, NAME_TAKEN, OPERAND, READ)
"""The codes of mistakes that types also show in most programs."""

_READS, _WHERE = re.compile(r" *reads: (\S+:\d+),"), re.compile(r"where: (\S+:\d+),")
"""The notes with the place of a mistake in another file, of errors that types show and of those that are followed."""

_from_body: dict[MypyFile, None] = new_cache()
"""The files whose analysis was started in the body of a function."""


def follow_at_end(api: TypeChecker, scope: OpenBrands) -> None:
    """Analyze the current file after mypy has checked its statements.

    mypy checks all statements of a file before the bodies of its functions.  If the first vmap is in such a body, the
    end of the file has been checked, and the analysis runs immediately.
    """
    is_too_late = bool(api.partial_types) and api.partial_types[0].is_function
    if not is_too_late:
        append_end(api.tree, api.named_type("builtins.function"))
    elif not _is_end(api.tree) and api.tree not in _from_body:
        _from_body[api.tree] = None
        follow_file(api, scope)


def append_end(tree: MypyFile, function: Instance) -> None:
    """Append the call that starts the analysis to a file."""
    if tree.is_stub or not tree.defs or _is_end(tree):
        return
    callee = TempNode(CallableType([], [], [], NoneType(), function, name=END))
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
    """Analyze a file; this is the hook of the call that `append_end` injects."""
    follow_file(checker(ctx), scope)
    return ctx.default_return_type


def follow_file(api: TypeChecker, scope: OpenBrands) -> None:
    """Analyze a file and report its mistakes, except mistakes that its types also show."""
    if not _imports_branded(api.tree.imports):
        return
    if scope.followed is not None:
        scope.followed(api)
    if api.path in api.errors.ignored_files:
        return
    followed, declared = Interpreter(api, scope), Interpreter(api, scope, declared_only=True)
    followed.run()
    if followed.findings:
        declared.run()
    declared_lines = {f.at.line for f in declared.findings.values()}
    errors, replaceable = api.errors.error_info_map.setdefault(api.errors.file, []), list[Replaceable]()
    typed = {info.line for info in errors if info.severity == "error" and not info.hidden}
    told = {(info.line, info.message.partition(":")[0]) for info in errors if info.severity == "error"}
    told |= {(info.line, "dict") for info in errors if info.code is INDEX}  # mypy reports the key of an index
    misused = {info.line for info in errors if info.code is ARG_TYPE and info.severity == "error" and not info.hidden}
    read_at = {m[1] for info in errors if info.severity == "note" and (m := _READS.match(info.message))}
    causes = {n for f in followed.findings.values() if not _is_assert(f) for n in f.lines}
    for f in followed.findings.values():
        if f.source is not None and _is_reported_there(f, api, scope):
            continue
        if any(m[1] in read_at for note in f.notes if (m := _WHERE.match(note))):
            continue
        others = f.lines - {f.at.line}
        if not f.lines.isdisjoint(misused):  # mypy has reported an argument of a call
            continue
        if _is_assert(f) and not others.isdisjoint(causes | typed):  # of a value that is wrong by another mistake
            continue
        may_show = f.code in FOUND_BY_TYPES or f.at.line in declared_lines
        shown = f.lines if may_show else frozenset[int]()  # where types may show the mistake
        operation, _, fact = f.message.partition(":")
        if not typed.isdisjoint(shown) or (f.at.line, operation) in told or (f.at.line, fact) in told:
            continue
        if f.is_note:
            api.note(f.message, f.at, code=ERROR)
        else:
            with trying(api) as found:  # mypy may report them later, after all operands of an expression
                fail(api, f.at, f.code, f.message, *f.notes)
            hide_consequences(api.errors, [e for e in found.filtered_errors() if e.severity == "error"])
            api.msg.add_errors(found.filtered_errors())
            typed |= {f.at.line} if f.code is ESCAPE else set()  # a read of the value later is the same mistake
            told |= {(f.at.line, fact)}  # the same mistake, in two operations
            replaceable.append((shown, found.filtered_errors()))
    give_way(api.errors.file, replaceable)


def _is_reported_there(mistake: ShapeMistake, api: TypeChecker, scope: OpenBrands) -> bool:
    """Return whether the other file of a mistake shows it by itself: then mypy reports it there."""
    assert mistake.source is not None
    f, line = mistake.source
    path = path_of(f.node)
    tree = parse(path, file_version(path)) if path is not None and path not in api.errors.ignored_files else None
    if path is None or tree is None or not _imports_branded(ast.walk(tree)):
        return False
    alone = Interpreter(api, scope, home=path)
    alone.follow_alone(f)
    return any(there == line and not found.is_note for (there, _), found in alone.findings.items())


def _is_assert(mistake: ShapeMistake) -> bool:
    return mistake.message.startswith("assert:")


def _imports_branded(statements: Iterable[object]) -> bool:
    """Return whether an import of mypy's tree or of Python's imports branded: then the shapes of the file are followed.

    mypy's cache does not keep the imports of other files.
    """
    names = list[str | None]()
    for s in statements:
        match s:
            case Import():
                names += [name for name, _ in s.ids]
            case ast.Import():
                names += [alias.name for alias in s.names]
            case ImportFrom() | ImportAll():
                names.append(s.id)
            case ast.ImportFrom():
                names.append(s.module)
    return any(name is not None and name.partition(".")[0] == "branded" for name in names)
