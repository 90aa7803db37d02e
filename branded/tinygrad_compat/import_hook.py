"""Patch a module of tinygrad when it is imported, which may happen later or never."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_Patch = Callable[[Any], None]


class _Finder:
    """A finder that delegates to Python's finders and patches each module after its last line."""

    def __init__(self) -> None:
        self.patches: dict[str, list[_Patch]] = {}
        self.run: Callable[[_Patch, ModuleType], None] = lambda patch, module: patch(module)

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.patches:
            return None
        others = (
            finder.find_spec(name, path, target) for finder in sys.meta_path if type(finder).__module__ != __name__
        )
        spec = next((candidate for candidate in others if candidate is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                for patch in self.patches[name]:
                    self.run(patch, module)

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010  mypy: a method is not assigned
        return spec


_finder = _Finder()


def run_with(run: Callable[[_Patch, ModuleType], None]) -> None:
    """Let `run(patch, module)` patch the modules that are imported from now on."""
    _finder.run = run


def when_imported(name: str, patch: _Patch) -> None:
    """Call `patch(module)` now, or as soon as the module of this name is imported."""
    if (module := sys.modules.get(name)) is not None:
        patch(module)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.patches.setdefault(name, []).append(patch)
