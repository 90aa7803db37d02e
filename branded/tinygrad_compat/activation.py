"""Activate the changes to tinygrad while functions of this package run, and while its graphs are computed.

"Ours" means the code of this package, and the values and graphs that it makes (`result_marks.py`).  `import branded`
replaces few names of tinygrad.  The first call of a function of `branded` replaces the rest.  A replaced name is in one
of these groups:

    always      locks, tables that belong to one thread, and faster rewriting: the same results for every program
    gated       functions, methods and properties: the replacement runs if our code runs in this thread, or if an
                argument is ours; otherwise the original runs
    engine      gated functions that schedule, compile and run: they hold the lock, and decide once for a whole graph
    scoped      everything else, such as the rewrite rules of kernels: replaced only while the engine runs our graph

`branded.enable` makes all changes active for every program.  `record` compares tinygrad before and after a fix is
installed, and puts each replaced name into its group.  A fix itself only has to replace names.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from tinygrad import Tensor
from tinygrad.helpers import Context
from tinygrad.uop.ops import UOp

from branded.errors import OptionError
from branded.errors.calls import check_calls
from branded.tinygrad_compat import import_hook, private_api, result_marks
from branded.tinygrad_compat.context_stack import run_then_undo
from branded.tinygrad_compat.gates import (
    GatedRules,
    enabled,
    engine_runs,
    gate,
    gated_attribute,
    inner_gate,
    our_code,
    outermost,
    plain_of,
    python_default,
    runs_ours,
    write_gate,
)
from branded.tinygrad_compat.tinygrad_lock import LOCK
from branded.tinygrad_compat.uops import KNOWN, is_realized

F = TypeVar("F", bound=Callable[..., Any])

FEATURES = ("cpu", "fixes")
installers: list[Callable[[], None]] = []
"""The functions that install the changes at the first use, in order."""


def is_running() -> bool:
    """Return whether a function of this package is running."""
    return our_code.any_open()


def running_block() -> AbstractContextManager[None]:
    """Return a `with` block for code of this package; the first such block installs the changes."""
    activate()
    return our_code.during(None)


_ALWAYS = {
    "_Device": ("_Device__get_canonicalized_item",),
    "device": ("ALLOW_DEVICE_USAGE",),
    "jit": ("all_tensors", "buffers", "capturing", "estimate_uop", "get_call_outs_ins"),
    "realize": ("capturing", "estimate_uop", "get_call_name", "get_call_outs_ins"),
    "schedule": ("capturing",),
    "function": ("_function", "pm_ctx"),
    "gradient": ("all_metadata",),
    "helpers": ("db_connection",),
    "ops_cpu": ("mmap",),
    "tensor": ("TRACEMETA", "all_tensors", "_METADATA", "cpu_profile"),
    "OpMixin": ("arange",),
    "CreationMixin": ("full",),
    "Tensor": (
        *("__del__", "__hash__", "__array_ufunc__", "__array_function__", "numpy", "tolist", "item"),
        *(private_api.INDEXES, private_api.BROADCASTS),
    ),
    "ops": ("dtype_from_uop", "shape_to_shape_arg"),
    "PatternMatcher": ("__add__", "rewrite"),
    "RewriteContext": ("unified_rewrite",),
    "Estimates": ("from_uops",),
    "UOp": ("__del__", private_api.MOVES, "simplify", "substitute", "toposort"),
    "UOpMetaClass": ("__call__",),
    "recursive_property": ("__get__",),
    "coalesce": ("uop_given_valid",),
    "symbolic": ("uop_given_valid",),
    "upat": ("upat_compile",),
}
"""The names of the group `always`, by the last part of the module, or by the class."""
_OF_USERS = ("Tensor", "_TinyJit", "_function", "BatchNorm")
"""The classes whose methods users call."""
_ENGINE = {
    "jit": ("run_linear", "compile_linear", "jit_lower"),
    "realize": ("run_linear", "compile_linear"),
    "tensor": ("run_linear",),
    "Tensor": ("realize", "callify", "schedule_linear", "linear_with_vars"),
}
_WRITES = ("assign", "replace", "__setitem__")


class _Replaced(NamedTuple):
    owner: Any
    name: str
    plain: Any
    ours: Any


_MISSING = object()
_scoped: dict[tuple[int, str], _Replaced] = {}


_worker_pools: dict[bool, Any] = {False: None, True: None}
"""The compile workers of tinygrad, and those with the changes, while the others are in use."""


class _Status:
    is_active = False
    """Whether the changes are installed."""
    is_installing = False
    is_ours: bool | None = False
    """Whether the scoped names are replaced at present; None while they are being replaced."""


def _replace_scoped_names(to_ours: bool) -> None:
    before, worker = _Status.is_ours, private_api.worker
    if before is to_ours:
        return
    _Status.is_ours = None
    if before is not None:
        _worker_pools[before] = worker.worker_pool
    worker.worker_pool = _worker_pools[to_ours]
    for owner, name, plain, ours in list(_scoped.values()):
        value = ours if to_ours else plain
        if value is _MISSING:
            if name in vars(owner):
                delattr(owner, name)
        else:
            setattr(owner, name, value)
    _Status.is_ours = to_ours


def _restore() -> None:
    _replace_scoped_names(engine_runs.any_open() or bool(enabled))


def _in_engine(f: Callable[[], Any], is_plain: bool = False, needs_names: bool = True) -> Any:
    """Run `f` with the scoped names replaced; with `is_plain`, the other changes are inactive.

    A function that only calls other functions of the engine, or replays compiled kernels, does not need the scoped
    names. Replacing them takes as long as a small kernel.
    """
    with LOCK:

        def run() -> Any:
            with engine_runs.during(None):
                if needs_names:
                    _replace_scoped_names(True)
                if is_plain:
                    with nullcontext() if "cpu" in enabled else Context(BRANDED_CPU=0):  # type: ignore[no-untyped-call]
                        return f()
                with our_code.during(None):
                    return f()

        return run_then_undo(run, _restore)


def in_engine(f: F) -> F:
    """Wrap a function of this package that schedules, compiles or runs: one thread at a time, with all changes."""

    @functools.wraps(f)
    def serialized(*args: Any, **kwargs: Any) -> Any:
        activate()
        return _in_engine(lambda: f(*args, **kwargs))

    return cast(F, serialized)


def _is_in_memory(x: Any) -> bool:
    if not isinstance(x, Tensor):
        return False
    if (known := x.uop.__dict__.get(KNOWN)) is not None and known.is_there:
        return True
    return is_realized(x.uop.base)  # tinygrad runs nothing for a view of memory either


realize_cached: Callable[[Sequence[Tensor]], bool] | None = None
"""Realizes values by a cached program, without tinygrad's engine, if there is one; set by `hooks.reads`."""


def _engine(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    realizes, runs_linear = (plain.__name__ == name for name in ("realize", "run_linear"))

    @functools.wraps(plain)
    def run_plain_or_ours(*args: Any, **kwargs: Any) -> Any:
        if realizes and all(map(_is_in_memory, args)):
            return args[0]
        with LOCK:
            runs = runs_ours()
            is_ours = runs or result_marks.any_ours(args) or result_marks.any_ours(kwargs.values())
            if realizes and is_ours and not runs and not kwargs and realize_cached is not None and realize_cached(args):
                return args[0]
            if not is_ours and not enabled:
                _replace_scoped_names(False)
                return plain(*args, **kwargs)
            needs_names = not (realizes or (runs_linear and kwargs.get("jit")))
            # inside another function of the engine
            if runs and engine_runs.any_open() and (_Status.is_ours or not needs_names):
                out = ours(*args, **kwargs)
            else:
                out = _in_engine(lambda: ours(*args, **kwargs), not is_ours, needs_names)
        result_marks.mark_schedules(x for x in (*args, out) if isinstance(x, UOp))
        return out

    return run_plain_or_ours


def _marking(apply_map: Callable[..., None]) -> Callable[..., None]:
    """Wrap the function that replaces the graphs of tensors: mark buffers that now contain values of this package."""

    def marked(applied_map: dict[UOp, UOp], *args: Any, **kwargs: Any) -> None:
        apply_map(applied_map, *args, **kwargs)
        if runs_ours():
            result_marks.mark_memory(applied_map.values())

    return marked


def _snapshot(modules: Iterable[ModuleType]) -> dict[int, tuple[Any, dict[str, Any]]]:
    """Return copies of the attributes of modules of tinygrad and of their classes, by id.

    Most classes are attributes of many modules, and are copied only once.
    """
    owners: dict[int, Any] = {}
    for module in modules:
        owners[id(module)] = module
        classes = [x for x in list(vars(module).values()) if isinstance(x, type)]
        owners |= {id(x): x for x in classes if x.__module__.startswith("tinygrad")}
    return {key: (owner, vars(owner).copy()) for key, owner in owners.items()}


def _is_unchanged(now: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether the same names have the same objects: of 9,000 names, few are replaced."""
    return len(now) == len(before) and all(map(operator.is_, now.values(), before.values()))


def _modules() -> list[ModuleType]:
    """Return the modules of tinygrad, except the large tables of drivers, in which nothing is replaced."""
    modules = [(name, m) for name, m in list(sys.modules.items()) if name.partition(".")[0] == "tinygrad"]
    return [m for name, m in modules if m is not None and not name.startswith(private_api.DRIVER_TABLES)]


def record(install: Callable[[], object], modules: Iterable[ModuleType] | None = None) -> None:
    """Run a function that replaces names of tinygrad, and put each name under the control of its group."""
    with LOCK:
        _replace_scoped_names(True)
        before = _snapshot(modules or _modules())
        try:
            install()
        finally:
            for owner, names in before.values():
                if _is_unchanged(vars(owner), names):
                    continue
                for name, ours in list(vars(owner).items()):
                    if (plain := names.get(name, _MISSING)) is not ours:
                        _control(owner, name, plain, ours)
            _restore()


def _gate_of(owner_name: str, name: str) -> Callable[..., Any]:
    if name in _ENGINE.get(owner_name, ()):
        return _engine
    if owner_name == "Tensor" and name in _WRITES:
        return write_gate
    return gate if owner_name in _OF_USERS else inner_gate


def _control(owner: Any, name: str, plain: Any, ours: Any) -> None:
    """Put a replaced name under the control of its group."""
    owner_name, plain = str(owner.__name__).rpartition(".")[2], plain_of(owner, name, plain)
    if name in _ALWAYS.get(owner_name, ()) or name.startswith("_branded") or ours is plain:
        return  # also the names of `gates.replace_plain`
    if name in ("pm_gradient", "pm_exec"):
        setattr(owner, name, GatedRules(plain.plain if isinstance(plain, GatedRules) else plain, ours))
    elif isinstance(ours, FunctionType | staticmethod | classmethod | functools.cached_property):
        if plain is _MISSING and isinstance(owner, type):
            plain = next((vars(c)[name] for c in owner.__mro__[1:-1] if name in vars(c)), None) or python_default(name)
        if plain is not _MISSING and plain is not None:
            setattr(owner, name, gated_attribute(_gate_of(owner_name, name), owner, plain, ours))
    else:
        key = id(owner), name
        known = _scoped.get(key)
        _scoped[key] = _Replaced(owner, name, plain if known is None else known.plain, ours)


def install_later(install: Callable[[], None], modules: Callable[[], Iterable[ModuleType]]) -> None:
    """Install changes to some modules at the first use of this package, or immediately if it has been used."""
    if _Status.is_active:
        record(install, modules())
    else:
        installers.append(install)


def _patch(patch: Callable[[Any], None], module: ModuleType) -> None:
    record(lambda: patch(module), [module])


@check_calls
def enable(*features: str) -> None:
    """Apply changes of tinygrad to every computation of this process, even if it does not use this package.

    By default, the changes apply only to the results of this package, and to values computed from its results.

    Args:
        features: `"fixes"` for the fixes of tinygrad's bugs; `"cpu"` for the CPU kernels, which include the fixes.

    Raises:
        OptionError: There is no such feature.

    Example:
        >>> import branded
        >>> branded.enable("cpu")

    The environment variable `BRANDED_ENABLE=cpu` and the command `python -m branded run FILE` do the same.

    Source: `tinygrad.Context`, whose options also change how every program is compiled.
    """
    if not features or (wrong := [x for x in features if x not in FEATURES]):
        raise OptionError(
            f"enable: there is no feature {wrong[0]!r}" if features else "enable: a feature is missing",
            fix=" or ".join(f'branded.enable("{x}")' for x in FEATURES),
        )
    activate()
    with LOCK:
        enabled.update(features)
        _restore()


def disable() -> None:
    """Undo `enable`.  Programs that are already compiled do not change."""
    if enabled:
        with LOCK:
            enabled.clear()
            _restore()


def enable_from_environment() -> None:
    """Enable the features that the variable BRANDED_ENABLE lists."""
    if features := os.environ.get("BRANDED_ENABLE"):
        enable(*(name.strip() for name in features.split(",")))


def activate() -> None:
    """Install the changes, unless they are installed."""
    if not _Status.is_active:
        _install()


def _install() -> None:
    with LOCK:
        if _Status.is_active or _Status.is_installing:
            return
        _Status.is_installing = True
        try:
            result_marks.begin()
            import_hook.run_with(_patch)
            for name in private_api.MODULES:  # only imported modules can be compared
                getattr(private_api, name)
            installers.append(_mark_results)
            record(_run_installers)
            for replace_names in outermost:
                replace_names()
        finally:
            _Status.is_active = True


def _run_installers() -> None:
    for install in installers:  # one of them may add more
        install()


def _mark_results() -> None:
    private_api.tensor._apply_map_to_tensors = _marking(private_api.tensor._apply_map_to_tensors)
