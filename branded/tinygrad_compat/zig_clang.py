"""The clang of the PyPI package `ziglang`, for machines without another one.

tinygrad runs a single program, `clang` or the one named by the variable CC, but `ziglang` needs the two words
`zig clang`. The call is patched rather than the environment, because child processes of the user would inherit that.
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
    """Return the command line of the C compiler."""
    if cc := os.environ.get("CC"):
        return [cc]
    zig = None if shutil.which("clang") else find()
    return ["clang"] if zig is None else [str(zig), "clang"]


@functools.cache
def find() -> Path | None:
    """Return the path of the program `zig` of the package, or None."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.origin:
        return None
    names = (Path(spec.origin).with_name(name) for name in ("zig", "zig.exe"))
    return next((path for path in names if path.exists()), None)


def install() -> None:
    def check_output(words: list[str], **options: Any) -> bytes:
        code: bytes = subprocess.check_output([*command(), *words[1:]], **options)
        return code

    command()  # look it up now, because a program may change `sys.path` later
    private_api.compiler_cpu.subprocess = SimpleNamespace(check_output=check_output)
