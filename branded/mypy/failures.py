"""Failures of the plugin: an error at the line that was being checked, after which mypy continues."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from mypy.checker import TypeChecker
from mypy.errors import CompileError
from mypy.plugin import AttributeContext, FunctionSigContext, MethodSigContext
from mypy.types import AnyType, Type, TypeOfAny

from branded.mypy.analysis.source_digest import DIGEST, LIBRARIES, add_source_facts
from branded.mypy.codes import ERROR
from branded.mypy.error_notes import add_notes
from branded.mypy.rows.injected_calls import is_silent_library
from branded.mypy.rows.reporting import AnyContext, checker, fail_at_once

Hook = Callable[[Any], Any]
Select = TypeVar("Select", bound=Callable[[Any, str], Hook | None])

_FOLDER = Path(__file__).parent
_running: list[TypeChecker] = []
"""The type checker of the outermost hook that is running."""


class FastHook:
    """A hook, and a function that answers most calls of it, and returns None for the others.

    The function neither lets mypy check anything nor reports errors, so mypy's state need not be saved for it.
    """

    def __init__(self, answer: Hook, hook: Hook) -> None:
        self.answer, self.hook = answer, hook

    def __call__(self, ctx: Any) -> Any:
        return self.hook(ctx)


def guard_hooks(select: Select) -> Select:
    """Make a method that selects a hook return one that reports a failure instead of raising it.

    The hooks for names of `LIBRARIES` are remembered. mypy's daemon may analyze such a library again.
    """

    name = select.__name__

    @wraps(select)
    def selected(plugin: Any, fullname: str) -> Hook | None:
        known: dict[str, Hook | None] = plugin.known_hooks[name]
        if fullname in known:
            return known[fullname]
        hook, fast = select(plugin, fullname), None
        if isinstance(hook, FastHook):
            fast, hook = hook.answer, hook.hook
        guarded = partial(_run_hook, hook, fast, getattr(plugin.by_mypy, name), fullname) if hook is not None else None
        if fullname.startswith(LIBRARIES) and not plugin.is_daemon:
            known[fullname] = guarded
        return guarded

    return cast(Select, selected)


def _run_hook(
    hook: Hook, fast: Hook | None, by_mypy: Callable[[str], Hook | None], fullname: str, ctx: AnyContext
) -> Any:
    """Run a hook of the plugin; `by_mypy` returns mypy's own hook for the name, which it may contain."""
    api = checker(ctx)
    if is_silent_library(api.tree, api.errors) and by_mypy(fullname) is None:
        return _default(ctx)
    if not _running:
        if DIGEST not in api.tree.names:
            add_source_facts(api.tree)
        add_notes(api.errors)
    if fast is not None:
        try:
            if (found := fast(ctx)) is not None:
                return found
        except Exception:  # the hook fails too, and its failure is reported
            pass
    # the outermost hook is at the user's line; a developer asks for the traceback
    if _running or api.options.show_traceback or api.options.pdb:
        return hook(ctx)
    _running.append(api)
    # mypy calls hooks so often that context managers would be a large part of the time
    state, shown, flushed = _state_of(api), (sys.stdout, sys.stderr), _flushed_files(api)
    sys.stdout = sys.stderr = said = io.StringIO()
    try:
        return hook(ctx)
    except BaseException as error:
        _restore_state(api, state)
        # within a hook, mypy prints an internal error and all messages so far, and raises SystemExit
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if isinstance(error, CompileError) or not isinstance(cause, Exception):
            raise
        said = io.StringIO()
        api.errors.flushed_files = flushed.copy()
        _report(cause, ctx, api)
        return _unknown(ctx)
    finally:
        (sys.stdout, sys.stderr), _running[:] = shown, []
        if text := said.getvalue():
            sys.stdout.write(text)


def _report(error: Exception, ctx: AnyContext, api: TypeChecker) -> None:
    calls = [c for c in traceback.extract_tb(error.__traceback__) if _FOLDER in Path(c.filename).parents]
    where = [f"in:    {Path(c.filename).name}:{c.lineno}, {c.name}" for c in calls[-1:]]
    message = f"branded: the plugin failed here, so this call is not checked: {type(error).__name__}: {error}"
    fix = "try:   report this line and the functions that it calls as a bug of branded"
    fail_at_once(api, ctx.context, ERROR, message, *where, fix)


def _default(ctx: AnyContext) -> Type:
    """Return the type that mypy computes without a hook."""
    if isinstance(ctx, FunctionSigContext | MethodSigContext):
        return ctx.default_signature
    return ctx.default_attr_type if isinstance(ctx, AttributeContext) else ctx.default_return_type


def _unknown(ctx: AnyContext) -> Type:
    """Return the result of a hook that failed: Any, or a signature of Any."""
    unknown = AnyType(TypeOfAny.from_error)
    if isinstance(ctx, FunctionSigContext | MethodSigContext):
        sig = ctx.default_signature
        return sig.copy_modified(arg_types=[unknown] * len(sig.arg_types), ret_type=unknown, variables=[])
    return unknown


_flushed: list[tuple[set[str], set[str]]] = []
"""The files whose errors mypy has printed: its set, which only grows, and a copy of the set."""


def _flushed_files(api: TypeChecker) -> set[str]:
    """Return a copy of the names of the files whose errors mypy has printed."""
    files = api.errors.flushed_files
    if not _flushed or _flushed[0][0] is not files or len(_flushed[0][1]) != len(files):
        _flushed[:] = [(files, files.copy())]
    return _flushed[0][1]


_read_lists = attrgetter(
    "scope.stack",
    "return_types",
    "dynamic_funcs",
    "partial_types",
    "_type_maps",
    "errors._watchers",
    "expr_checker.type_context",
    "tscope.classes",
    "tscope.functions",
    "binder.frames",
    "binder.options_on_return",
    "binder.break_frames",
    "binder.continue_frames",
)
_VALUES = (
    "binder",
    "no_partial_types",
    "pass_num",
    "current_node_deferred",
    "expr_checker.is_callee",
    "expr_checker.in_lambda_expr",
    "expr_checker.expr_cache",
    "tscope.module",
    "tscope.function",
    "tscope.ignored",
)
_read_values = attrgetter(*_VALUES)
_State = tuple[tuple[list[Any], ...], list[int], tuple[Any, ...]]
"""Lists of mypy's checker and their lengths, and values of its attributes."""


def _state_of(api: TypeChecker) -> _State:
    """Return the state of mypy that an exception may leave changed; its context managers do not restore it."""
    lists = _read_lists(api)
    return lists, list(map(len, lists)), _read_values(api)


def _restore_state(api: TypeChecker, state: _State) -> None:
    lists, lengths, values = state
    for x, n in zip(lists, lengths, strict=True):
        del x[n:]
    for path, value in zip(_VALUES, values, strict=True):
        owner, _, name = path.rpartition(".")
        setattr(getattr(api, owner) if owner else api, name, value)
