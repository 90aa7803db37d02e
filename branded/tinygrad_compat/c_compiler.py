"""The choice of a C compiler for tinygrad's CPU device.

tinygrad compiles with `clang`, or with the program that the variable CC names. If neither exists, `zig_clang.py` uses
the clang of the PyPI package `ziglang`. No file is written, and no error is raised before the first compilation.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

from branded.errors import CompilerError
from branded.tinygrad_compat import features, private_api, zig_clang
from branded.tinygrad_compat.speed import compile_workers


def choose() -> None:
    """Select the compiler for this process and for tinygrad's compile workers."""
    if len(zig_clang.command()) > 1:
        zig_clang.install()
        if features.fits("workers"):
            compile_workers.begin_with([zig_clang.__name__])
            compile_workers.INSTALLED.append(zig_clang.__name__)
    explain_errors()
    _explain_missing()


def _missing() -> CompilerError:
    return CompilerError(
        "compiler: tinygrad's CPU device needs a C compiler, and clang is not installed",
        ("looked", "the variable CC, clang on PATH, the package ziglang"),
        fix="pip install 'branded[cc]', or install clang",
    )


def _compiler_error(error: OSError | subprocess.CalledProcessError) -> CompilerError:
    """Return the error for a compiler that cannot be run, or that rejects tinygrad's source code."""
    cc, *of_zig = zig_clang.command()
    if cc == "clang" and isinstance(error, FileNotFoundError):
        return _missing()
    reason = error.strerror if isinstance(error, OSError) else f"it ended with status {error.returncode}"
    return CompilerError(
        "compiler: tinygrad's CPU device needs a C compiler, and the chosen one cannot be run"
        if isinstance(error, OSError)
        else "compiler: the chosen C compiler rejects tinygrad's code",
        ("zig" if of_zig else "CC", cc),
        ("says", str(reason)),
        fix="CC=clang, because gcc does not know the options"
        if not of_zig
        else "pip install --force-reinstall 'branded[cc]', or install clang",
    )


_failures: list[CompilerError] = []
"""The errors of the compiler: tinygrad discards the errors of the devices that it tried."""


def explain_errors() -> None:
    """Add the chosen compiler and a fix to its errors."""
    compiler = private_api.ClangCompiler
    compile_: Callable[[Any, str], bytes] = compiler.compile

    @functools.wraps(compile_)
    def compile_or_explain(self: Any, src: str) -> bytes:
        try:
            return compile_(self, src)
        except (OSError, subprocess.CalledProcessError) as error:
            _failures.append(failed := _compiler_error(error))
            raise failed from None

    compiler.compile = compile_or_explain


def _explain_missing() -> None:
    """Let tinygrad try its other devices, and report a missing compiler if none of them is usable."""
    device = private_api._Device
    select = device.__dict__[private_api.SELECT_DEVICE].func

    def select_or_explain(self: Any) -> str:
        try:
            return str(select(self))
        except RuntimeError as error:
            if "no usable devices" not in str(error):
                raise
            if _failures:
                raise _failures[-1] from None
            if os.environ.get("CC") or shutil.which("clang"):
                raise
            raise _missing() from None

    chosen = functools.cached_property(select_or_explain)
    chosen.__set_name__(device, private_api.SELECT_DEVICE)
    setattr(device, private_api.SELECT_DEVICE, chosen)
