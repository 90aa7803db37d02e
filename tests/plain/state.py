"""Record changes by an import that affect no result: names of tinygrad, and the state of Python and the process.

    python -m tests.plain.state [branded] [used]

prints the changes at `import branded`, and the changes when vmap, grad and jit run afterwards. Without `branded`, it
prints the changes without the import, and when plain tinygrad runs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import locale
import os
import re
import signal
import socket
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tinygrad
from tinygrad import Device, Tensor
from tinygrad.helpers import ContextVar
from tinygrad.uop.ops import PatternMatcher

LOADED = (
    *(
        "tensor",
        "function",
        "nn.__init__",
        "nn.optim",
        "nn.state",
        "nn.datasets",
        "engine.*",
        "schedule.*",
        "codegen.**.*",
        "mixin.*",
        "uop.*",
        "renderer.cstyle",
    ),
    *("runtime.ops_cpu", "runtime.ops_disk", "runtime.ops_npy", "runtime.ops_python", "runtime.support.compiler_cpu"),
)
"""Modules of tinygrad in which an import of `branded` may replace names."""
_OF_PYTHON = {"__dict__", "__weakref__", "__doc__", "__module__", "__builtins__", "__annotations__", "__cached__"}
_OF_PYTHON |= {"__slotnames__"}
_PLACES = ("json.tool", "numpy.fft", "tinygrad.nothing", "nothing", "email.mime", "tinygrad.nn.onnx")
"""Modules to search for, since a new entry of `sys.meta_path` may change the results."""


class Name(NamedTuple):
    """A name in a module, or in one of its classes."""

    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def place(self) -> str:
        """Return the module or the class."""
        return self.path.rpartition(".")[0]


def load() -> None:
    """Import the modules of tinygrad, so that a later import replaces names there immediately."""
    import typing_extensions  # noqa: F401  it replaces names of typing

    root = Path(tinygrad.__path__[0])
    for pattern in LOADED:
        for file in sorted(root.glob(pattern.replace(".", "/") + ".py")):
            parts = file.relative_to(root.parent).with_suffix("").parts
            with contextlib.suppress(ImportError, KeyError):  # a module may need a library, or the variable PATH
                importlib.import_module(".".join(parts).removesuffix(".__init__"))


def names() -> dict[Name, Any]:
    """Return the values of all names in loaded modules and in classes defined by tinygrad."""
    found: dict[Name, Any] = {}
    for module in [m for m in sys.modules.values() if isinstance(m, types.ModuleType)]:
        title = module.__name__
        package = title.partition(".")[0]
        if package in ("branded", "tests") or ".autogen" in title:
            continue
        for name, value in list(vars(module).items()):
            if name in _OF_PYTHON or (isinstance(value, types.ModuleType) and value.__name__.startswith("branded")):
                continue
            found[Name(title, name)] = value
            is_class = package == "tinygrad" and isinstance(value, type)
            if is_class and (value.__module__, value.__name__) == (title, name):
                members = [(n, v) for n, v in list(vars(value).items()) if n not in _OF_PYTHON]
                found |= {Name(title, f"{name}.{n}"): v for n, v in members}
    return found


def inside(value: Any) -> Any:
    """Return the parts of a value that can be replaced while the value itself stays the same object."""
    if isinstance(value, property):
        return value.fget, value.fset
    if isinstance(value, types.FunctionType):
        cells = tuple(c.cell_contents for c in value.__closure__ or () if c != types.CellType())
        kept = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return value.__code__, value.__defaults__, list(cells), list(kept.items())
    if isinstance(value, PatternMatcher):
        return [p for p, _ in value.patterns], [f for _, f in value.patterns]
    if isinstance(value, list | set | frozenset):
        return list(value)
    return None


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two values are the same object, part by part."""
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return a is b or (isinstance(a, int | float | str | bytes | types.MethodType) and type(a) is type(b) and a == b)


def is_of_tinygrad(name: Name) -> bool:
    return name.module.partition(".")[0] == "tinygrad"


def changes(before: dict[Name, Any], parts: dict[Name, Any], after: dict[Name, Any]) -> Iterator[tuple[str, Name]]:
    """Yield the names that were replaced, added, removed, or changed inside.

    Outside tinygrad only functions and classes count, since other values are state of their modules.
    The members of a class that was replaced are not listed.
    """
    replaced = {name.path for name, value in after.items() if name in before and value is not before[name]}
    before, after = ({k: v for k, v in names.items() if k.place not in replaced} for names in (before, after))
    for name, value in after.items():
        if not is_of_tinygrad(name) and not callable(value):
            continue
        if name not in before:
            if is_of_tinygrad(name):
                yield "added", name
        elif not _is_same(value, before[name]):
            yield "replaced", name
        elif not _is_same(inside(value), parts[name]):
            yield "changed inside", name
    yield from (("removed", name) for name in before if name not in after)


def context_variables() -> dict[str, str]:
    """Return the options of tinygrad, except the options of `branded`."""
    cache: dict[str, ContextVar[Any]] = ContextVar._cache
    return {f"option {name}": repr(v.value) for name, v in cache.items() if not name.startswith("BRANDED")}


def process_state() -> dict[str, str]:
    """Return the state of Python and of the process, as text."""
    found = {f"os.environ[{k!r}]": v for k, v in os.environ.items()}
    found |= {"gc": f"{gc.isenabled()} {gc.get_threshold()} {gc.get_debug()} frozen {gc.get_freeze_count()}"}
    found |= {"gc.callbacks": repr(gc.callbacks), "umask, folder": str(umask_and_folder())}
    found |= {"warnings.filters": repr(warnings.filters), "warnings.showwarning": repr(warnings.showwarning)}
    handled = {s.name: signal.getsignal(s) for s in signal.valid_signals() if isinstance(s, signal.Signals)}
    found |= {f"handler of {name}": repr(handler) for name, handler in handled.items()}
    found |= {"sys." + f.__name__: repr(f()) for f in (sys.getrecursionlimit, sys.getswitchinterval, sys.getprofile)}
    found |= {f"sys.{n}": repr(getattr(sys, n)) for n in ("path", "path_hooks", "excepthook", "displayhook")}
    found |= {f"sys.{n}": repr(getattr(sys, n)) for n in ("unraisablehook", "breakpointhook", "stdout", "stderr")}
    found |= {"threading.excepthook": repr(threading.excepthook), "numpy errors": repr(np.geterr())}
    found |= {"threads": repr(sorted(t.name for t in threading.enumerate()))}
    found |= {"locale": repr(locale.setlocale(locale.LC_ALL)), "socket timeout": repr(socket.getdefaulttimeout())}
    found |= {f"search for {name}": _searched(name) for name in _PLACES}
    found |= {"device": Device.DEFAULT, "numpy print options": repr(np.get_printoptions())}
    if private := vars(Device).get("_opened_devices"):
        opened = sorted(set(private) - {"PYTHON"})  # tinygrad opens it to copy a result, which `branded` reads in place
        found |= {f"renderer of {d}": repr(type(Device[d].renderer)) for d in opened}
    found |= context_variables()
    return {k: re.sub(r"0x[0-9a-f]+", "0x", v) for k, v in found.items()}


def umask_and_folder() -> tuple[str, str]:
    """Return the umask and the current folder of the process."""
    mask = os.umask(0)
    os.umask(mask)
    return f"{mask:o}", os.getcwd()  # noqa: PTH109


def _searched(name: str) -> str:
    try:
        spec = find_spec(name)
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
    return "None" if spec is None else f"{type(spec.loader).__qualname__} {spec.origin}"


def observe(is_plain: bool, is_used: bool) -> dict[str, Any]:
    """Return the changes at the import and in use; for a plain process, the changes without the import."""
    from tests.plain import process

    load()
    if is_used:
        Device["CPU"]
    before = names()
    parts = {name: inside(value) for name, value in before.items()}
    if not is_plain:
        importlib.import_module("branded")
    found: dict[str, Any] = {"at import": process_state(), "names at import": list(changes(before, parts, names()))}
    if is_used:
        if is_plain:
            (Tensor(np.ones(2)) + 1).sum().numpy()
        else:
            process.use()
        found |= {"in use": process_state(), "names in use": list(changes(before, parts, names()))}
    return found


if __name__ == "__main__":
    print(json.dumps(observe("branded" not in sys.argv, "used" in sys.argv)))
