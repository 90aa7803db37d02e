"""What makes the CPU fast.  `BRANDED_CPU=0`, in the environment or in a `Context`, switches all of it off.

`kernels` says how kernels are made, `exponentials` and `sines` how these are worked out, `products` which kernels are
products of matrices, `columns` how these are added up, `kept` and `once` what kernels give to one another, `parts` what
all cores do; `docs/speed.md` is about all of them.

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

from branded import patches
from branded.cpu import exponentials, kept, kernels, parts, sines
from branded.patches import workers


@contextmanager
def plain() -> Iterator[None]:
    """What is compiled in this block, by this thread, is compiled as tinygrad does it.

    It is `Context(BRANDED_CPU=0)`.  In the environment it holds everywhere.  A function of `jit` has a program for each
    of the two.

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
    """Not where tinygrad is to be left as it is, is one that the tests have not seen, or compiles without us."""
    if "workers" in patches.installed:
        for module in (kernels, exponentials, sines):
            module.install()
            workers.INSTALLED.append(module.__name__)
        kept.install()
        parts.install()
