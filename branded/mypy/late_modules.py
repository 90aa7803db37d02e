"""Imports of the plugin's modules: without the package, and of modules that most files do not need.

A run of mypy that checks one file takes less than a second, so an import for nothing would be a large part of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


@contextmanager
def without_package() -> Iterator[None]:
    """Import modules of the plugin without the package, which imports tinygrad."""
    is_alone = sys.modules.setdefault("branded", stand_in := ModuleType("branded")) is stand_in
    try:
        yield
    finally:
        if is_alone:
            del sys.modules["branded"]  # a later import in this process gets the real package


class LateModule(ModuleType):
    """Stands for a module that is imported when one of its names is first used. mypy sees the module itself:

    if TYPE_CHECKING:
        from branded.mypy.rows import hints
    else:
        hints = LateModule("branded.mypy.rows.hints")
    """

    def __getattr__(self, name: str) -> object:
        with without_package():
            value = getattr(import_module(self.__name__), name)
        vars(self)[name] = value
        return value
