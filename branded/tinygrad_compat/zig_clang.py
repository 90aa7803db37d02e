"""The clang of the PyPI package `ziglang`, where there is no other.

tinygrad compiles with one program, `clang` or what the variable CC names; that of `ziglang` is called `zig clang`.  So
the call itself is changed, and not the environment, which all processes that a user starts would have.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from branded.tinygrad_compat import private_api


def command() -> list[str]:
    """The words that start the C compiler."""
    if cc := os.environ.get("CC"):
        return [cc]
    zig = None if shutil.which("clang") else find()
    return ["clang"] if zig is None else [str(zig), "clang"]


@functools.cache
def find() -> Path | None:
    """The program `zig` of the package."""
    spec = importlib.util.find_spec("ziglang")
    zig = Path(spec.origin).parent / "zig" if spec is not None and spec.origin else None
    return zig if zig is not None and zig.exists() else None


def install() -> None:
    def check_output(words: list[str], **options: Any) -> bytes:
        code: bytes = subprocess.check_output([*command(), *words[1:]], **options)
        return code

    command()  # a program may change the path of its modules later
    private_api.compiler_cpu.subprocess = SimpleNamespace(check_output=check_output)
