"""The body of a function, looked at once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mypy.checker import TypeChecker, expand_func
from mypy.errors import ErrorInfo
from mypy.nodes import AssignmentStmt, FuncDef, NameExpr, Var
from mypy.types import CallableType

from branded.mypy import marks
from branded.mypy.opening import trying
from branded.mypy.rows import Brand, change
from branded.mypy.walking import walk


class CheckedCopy(NamedTuple):
    """A function that was looked at again, and what is wrong in it."""

    function: FuncDef
    errors: list[ErrorInfo]


def is_here(f: FuncDef, api: TypeChecker) -> bool:
    """Is the body of this function in this file?  That of another file is not always in memory."""
    return "." not in f.fullname or f.fullname.startswith(f"{api.tree.fullname}.")


def look_again(
    f: FuncDef,
    t: CallableType,
    api: TypeChecker,
    rows: Sequence[Brand] = (),
    then: Callable[[FuncDef], None] = lambda f: None,
) -> CheckedCopy:
    """Type check a copy of a function as one of type `t`, and tell nobody of the errors.

    mypy looks at the top of a file first and at the functions after it, so that of a function which is mapped there the
    types are not known yet.

    Args:
        f: A function of this file.
        t: Its type.
        api: The type checker.
        rows: What local variables may vary over that are declared as tensors.
        then: What else to look for in the copy; its errors are among those that are given back.
    """
    copy = expand_func(f, {})
    assert isinstance(copy, FuncDef)
    marks.of_copy(copy)
    for part in walk(copy.body) if rows else ():
        if isinstance(part, AssignmentStmt) and part.type is not None:
            _widen(part, rows)
    deferred, last, defers = len(api.deferred_nodes), api.pass_num, api.current_node_deferred
    recurses, api.recurse_into_functions = api.recurse_into_functions, True
    api.pass_num = api.last_pass  # what is not known yet is an error here, and no reason to come back
    try:
        with trying(api) as errors:
            api.check_func_item(copy, t, name=f.name)
            then(copy)
    finally:
        api.pass_num, api.current_node_deferred, api.recurse_into_functions = last, defers, recurses
        del api.deferred_nodes[deferred:]
    return CheckedCopy(copy, list(errors.filtered_errors()))


def _widen(declared: AssignmentStmt, rows: Sequence[Brand]) -> None:
    """`y: Tensor = x * 2` in a function that says nothing of rows."""
    if declared.type is not None:
        declared.type = change(declared.type, lambda row: [*row, *rows])
    for v in declared.lvalues:
        if isinstance(v, NameExpr) and isinstance(v.node, Var) and v.node.type is not None:
            v.node.type = change(v.node.type, lambda row: [*row, *rows])
