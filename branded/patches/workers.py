"""The processes in which tinygrad compiles have the mends that change what is compiled.

tinygrad starts them anew, without the modules of this one, as soon as there are two kernels to compile.  They run this
file, which needs tinygrad alone, and not the whole of `branded`.
"""

from __future__ import annotations

import functools
import importlib
import runpy
from pathlib import Path
from typing import Any

COMPILING = ("cache", "images", "ranges", "numbering", "gates", "vectorizer", "products")
"""The patches that such a process needs."""
tg_worker: Any = importlib.import_module("tinygrad.engine.worker")


def install() -> None:
    from branded import patches

    names = [name for name in patches.installed if name in COMPILING]
    start = functools.partial(runpy.run_path, __file__, {"NAMES": names}, "branded_worker")
    tg_worker._init_worker = start


if __name__ == "branded_worker":
    for name in globals()["NAMES"]:
        runpy.run_path(str(Path(__file__).with_name(f"{name}.py")))["install"]()
    tg_worker._init_worker()
