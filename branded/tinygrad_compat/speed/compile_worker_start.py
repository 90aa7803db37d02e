"""The start of a compile worker, which installs the modules named in `NAMES`.

It runs this file without any `__init__.py`: an empty package replaces `branded`, with its modules but nothing loaded.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[2]


def _package(name: str) -> None:
    sys.modules[name] = package = ModuleType(name)
    package.__path__ = [str(PACKAGE.joinpath(*name.split(".")[1:]))]


def start(names: list[str]) -> None:
    for name in [*names, "branded.tinygrad_compat.private_api"]:
        parts = name.split(".")
        for i in range(1, len(parts)):
            if (above := ".".join(parts[:i])) not in sys.modules:
                _package(above)
    for name in names:
        importlib.import_module(name).install()
    private_api = importlib.import_module("branded.tinygrad_compat.private_api")
    for name in [name for name in sys.modules if name.partition(".")[0] == "branded"]:
        del sys.modules[name]  # a later import of the package loads all of it
    private_api.worker._init_worker()


if __name__ == "branded_compiling":
    start(globals()["NAMES"])
