"""What a process does as it starts in which tinygrad compiles: it installs the modules that are named in `NAMES`.

It runs this file, and no `__init__.py`: a package stands here for `branded` that has its modules, and loads none.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent


def _package(name: str, folder: Path) -> None:
    sys.modules[name] = package = ModuleType(name)
    package.__path__ = [str(folder)]


def start(names: list[str]) -> None:
    _package("branded", HERE.parent)
    _package("branded.patches", HERE)
    _package("branded.cpu", HERE.parent / "cpu")
    for name in names:
        importlib.import_module(name).install()
    tg = importlib.import_module("branded.patches.tg")
    for name in [name for name in sys.modules if name.partition(".")[0] == "branded"]:
        del sys.modules[name]  # who asks for the package gets all of it
    tg.worker._init_worker()


if __name__ == "branded_compiling":
    start(globals()["NAMES"])
