"""Fast CPU kernels and their execution.

`renderer` writes kernels, `gemm` multiplies matrices, `autotune` benchmarks variants of a kernel, `linalg` has kernels
for matrices, and `runtime` runs compiled kernels.  `BRANDED_CPU=0`, in the environment or in a `Context`, disables the
whole package.  See `docs/speed.md`.

Example:
    >>> from branded import cpu
    >>> from tinygrad import Tensor
    >>> with cpu.plain():
    ...     Tensor([1.0, 2.0]).sum().item()
    3.0

Source: clang's `#pragma clang fp reassociate`, LLVM's loop vectorizer, BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tinygrad.helpers import Context

from branded import tinygrad_compat
from branded.backends.cpu.renderer import bufferize_policy, exponentials, loops, sines
from branded.backends.cpu.runtime import parallel_dispatch
from branded.tinygrad_compat import features
from branded.tinygrad_compat.speed import compile_workers


@contextmanager
def plain() -> Iterator[None]:
    """Compile kernels as tinygrad does, for this thread and within this block.

    The effect is the same as that of `Context(BRANDED_CPU=0)`.  The environment variable `BRANDED_CPU=0` applies to the
    whole process.  A `jit` function has a separate program for each setting.

    Returns:
        A context manager.

    Example:
        >>> from branded import cpu
        >>> from tinygrad import Tensor
        >>> with cpu.plain():
        ...     (Tensor([1.0, 2.0]) * 2).tolist()
        [2.0, 4.0]
    """
    with Context(BRANDED_CPU=0):  # type: ignore[no-untyped-call]
        yield


def install() -> None:
    """Install the CPU kernels unless tinygrad is unpatched, untested or lacks names, or `workers` is disabled."""
    if "workers" in tinygrad_compat.installed and features.fits("backend"):
        for module in (loops, exponentials, sines):
            module.install()
            compile_workers.INSTALLED.append(module.__name__)
        bufferize_policy.install()
        parallel_dispatch.install()
