"""A workaround for clang: loops with conditional loads are not vectorized.

clang 22 vectorizes them incorrectly for CPUs with AVX-512. In `x.roll(1, 1).cumsum(0)` for an `x` of shape (8, 16), the
loads that wrap around at the end of a row continue into the next row. tinygrad's own vectors are not affected.
"""

from __future__ import annotations

import functools
from typing import Any

from branded.tinygrad_compat import private_api

_PRAGMA = "#pragma clang loop vectorize(disable)"


def install() -> None:
    cls: Any = private_api.cstyle.ClangRenderer
    original = cls.render_kernel

    @functools.wraps(original)
    def render_kernel(self: Any, name: str, kernel: list[str], *rest: Any, **options: Any) -> str:
        if any("?*" in line for line in kernel):
            kernel = [f"{_PRAGMA}\n{line}" if line.lstrip().startswith("for (") else line for line in kernel]
        out: str = original(self, name, kernel, *rest, **options)
        return out

    cls.render_kernel = render_kernel
