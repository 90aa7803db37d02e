"""Failures of the plugin: an error at the line that was being checked, after which mypy continues."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from mypy.checker import TypeChecker
from mypy.errors import CompileError
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import AnyType, Type, TypeOfAny

from branded.mypy.codes import ERROR
from branded.mypy.error_notes import add_notes
from branded.mypy.rows.brand_env import AnyContext, checker, fail_at_once

Hook = Callable[[Any], Any]
Select = TypeVar("Select", bound=Callable[[Any, str], Hook | None])

_FOLDER = Path(__file__).parent
_running: list[TypeChecker] = []
"""The type checker of the outermost hook that is running."""


def guard_hooks(select: Select) -> Select:
    """Make a method that selects a hook return one that reports a failure instead of raising it."""

    @wraps(select)
    def selected(plugin: object, fullname: str) -> Hook | None:
        hook = select(plugin, fullname)
        return partial(_run, hook) if hook is not None else None

    return cast(Select, selected)


def _run(hook: Hook, ctx: AnyContext) -> Any:
    api = checker(ctx)
    add_notes(api.errors)
    # the outermost hook is at the user's line; a developer asks for the traceback
    if _running or api.options.show_traceback or api.options.pdb:
        return hook(ctx)
    _running.append(api)
    said, flushed = io.StringIO(), api.errors.flushed_files.copy()
    try:
        with _restore_state(api), redirect_stdout(said), redirect_stderr(said):
            return hook(ctx)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        # within a hook, mypy prints an internal error and all messages so far, and raises SystemExit
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(cause, Exception):
            raise
        said = io.StringIO()
        api.errors.flushed_files = flushed
        _report(cause, ctx, api)
        return _unknown(ctx)
    finally:
        _running.clear()
        if text := said.getvalue():
            sys.stdout.write(text)


def _report(error: Exception, ctx: AnyContext, api: TypeChecker) -> None:
    calls = [c for c in traceback.extract_tb(error.__traceback__) if _FOLDER in Path(c.filename).parents]
    where = [f"in:    {Path(c.filename).name}:{c.lineno}, {c.name}" for c in calls[-1:]]
    message = f"branded: the plugin failed here, so this call is not checked: {type(error).__name__}: {error}"
    fix = "try:   report this line and the functions that it calls as a bug of branded"
    fail_at_once(api, ctx.context, ERROR, message, *where, fix)


def _unknown(ctx: AnyContext) -> Type:
    """Return the result of a hook that failed: Any, or a signature of Any."""
    unknown = AnyType(TypeOfAny.from_error)
    if isinstance(ctx, FunctionSigContext | MethodSigContext):
        sig = ctx.default_signature
        return sig.copy_modified(arg_types=[unknown] * len(sig.arg_types), ret_type=unknown, variables=[])
    return unknown


@contextmanager
def _restore_state(api: TypeChecker) -> Iterator[None]:
    """Restore the state of mypy after an exception; its context managers do not."""
    e, scope, binder = api.expr_checker, api.tscope, api.binder
    lists: list[list[Any]] = [
        api.scope.stack,
        api.return_types,
        api.dynamic_funcs,
        api.partial_types,
        api._type_maps,
        api.errors._watchers,
        e.type_context,
        scope.classes,
        scope.functions,
        binder.frames,
        binder.options_on_return,
        binder.break_frames,
        binder.continue_frames,
    ]
    lengths = [len(x) for x in lists]
    owners = [
        (api, ("binder", "no_partial_types", "pass_num", "current_node_deferred")),
        (e, ("is_callee", "in_lambda_expr", "expr_cache")),
        (scope, ("module", "function", "ignored")),
    ]
    values = [(owner, name, getattr(owner, name)) for owner, names in owners for name in names]
    try:
        yield
    except BaseException:
        for x, n in zip(lists, lengths, strict=True):
            del x[n:]
        for owner, name, value in values:
            setattr(owner, name, value)
        raise
