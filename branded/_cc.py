"""A C compiler for tinygrad's CPU device on a machine that has none.

tinygrad compiles with `clang`, or with what the variable CC names.  Where neither is there, the PyPI package
`ziglang` carries clang as `zig clang`; tinygrad calls one program, so a two-line script stands in for it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from branded.errors import CompilerError


def choose() -> None:
    """Set CC before the first compile: tinygrad keeps what it read of the environment."""
    if not os.environ.get("CC") and not shutil.which("clang"):
        if (zig := _zig()) is not None:
            os.environ["CC"] = str(_shim(zig))
        else:
            _explain_missing()


def _zig() -> Path | None:
    spec = importlib.util.find_spec("ziglang")
    zig = Path(spec.origin).parent / "zig" if spec is not None and spec.origin else None
    return zig if zig is not None and zig.exists() else None


def _shim(zig: Path) -> Path:
    """The script, written where it is missing or stale; a reader sees the old one or the new one, never half."""
    text = f'#!/bin/sh\nexec {shlex.quote(str(zig))} clang "$@"\n'
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    shim = cache / "branded" / "zig-clang"
    if not (shim.exists() and shim.read_text() == text and os.access(shim, os.X_OK)):
        shim.parent.mkdir(parents=True, exist_ok=True)
        new = shim.with_name(f"{shim.name}.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o755)
        new.replace(shim)
    return shim


def _missing() -> CompilerError:
    return CompilerError(
        "compiler: tinygrad's CPU device needs a C compiler, and there is no clang here",
        ("looked", "the variable CC, clang on PATH, the package ziglang"),
        fix="pip install 'branded[cc]', or install clang",
    )


def _explain_missing() -> None:
    """Let tinygrad try its other devices; where it would fail for want of a compiler, say so."""
    from tinygrad.device import _Device
    from tinygrad.runtime.support.compiler_cpu import ClangCompiler

    compile_ = ClangCompiler.compile
    select = _Device.__dict__["_select_device"].func

    @functools.wraps(compile_)
    def compile_or_explain(self: Any, src: str) -> bytes:
        try:
            return compile_(self, src)
        except FileNotFoundError:
            raise _missing() from None

    def select_or_explain(self: Any) -> str:
        try:
            return str(select(self))
        except RuntimeError as error:
            if "no usable devices" not in str(error):
                raise
            raise _missing() from None

    ClangCompiler.compile = compile_or_explain  # type: ignore[method-assign]
    chosen = functools.cached_property(select_or_explain)
    chosen.__set_name__(_Device, "_select_device")
    _Device._select_device = chosen  # type: ignore[assignment]
