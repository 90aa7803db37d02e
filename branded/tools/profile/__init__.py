"""`profile`: the time of a function by line and by kernel.

python -m branded profile FILE.py:function
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tinygrad import Tensor

from branded import tree
from branded.backends.cpu.autotune.config import Report, Tune, TuneLevel
from branded.compile import eager_cache
from branded.compile.jit import Jitted
from branded.compile.kernel_times import Timed, seconds_of
from branded.core.validation.arguments import check_tune
from branded.errors import BrandedError
from branded.explain import example_arguments
from branded.explain.data import is_array, note_many_steps
from branded.graph.uops import realize_tensors
from branded.ir import make_expr_for
from branded.tinygrad_compat.lazy_numpy import np
from branded.tools.profile.causes import Cause, causes, tracing
from branded.tools.profile.lines import Line, whole_and_lines
from branded.tools.profile.runs import kernels_of_run

__all__ = ["Cause", "Line", "Peak", "Profile", "Timed", "profile"]


class Peak(NamedTuple):
    """The rates that numpy reaches on this machine, in operations and bytes per second."""

    flops: float
    bytes: float


class Profile(NamedTuple):
    """The kernels of one call, in order, and its source lines, each measured separately."""

    kernels: list[Timed]
    lines: list[Line]
    peak: Peak
    tuned: Report = Report()
    """The kernels that the autotuner tried."""
    traced: float = 0.0
    """The seconds that Python took to run the function, for a function without `jit`."""
    traces: int = 0
    """The number of times that a compiled function was traced before."""
    reads: bool = False
    """Whether the function reads values, so that it was run rather than traced."""

    @property
    def seconds(self) -> float:
        """The total time of the kernels; kernels inside a loop are part of the loop's time."""
        return sum(k.seconds for k in self.kernels if not k.depth)

    @property
    def causes(self) -> list[Cause]:
        """The known causes of slow kernels, each with a change that removes it."""
        return causes(self.kernels) + tracing(self.traced, self.seconds, self.traces)

    def __str__(self) -> str:
        outer = [k for k in self.kernels if not k.depth]
        if not outer and not self.lines:
            return "no kernels: the function computes no tensor"
        heading = "line that reads a value" if self.reads else "line, measured separately"
        flops, size = self.peak.flops / 1e9, self.peak.bytes / 1e9
        text = [
            f"{_time(self.seconds)} in {len(outer)} kernel{'s' * (len(outer) != 1)}",
            f"numpy reaches {flops:.0f} GFLOPS and {size:.0f} GB/s on this machine",
            "",
            f"{'kernel':<44} {'runs':>7} {'time':>10} {'share':>6} {'GFLOPS':>13} {'GB/s':>13}",
            *map(self._kernel, self.kernels),
            "",
            f"{heading:<44} {'kernels':>7} {'time':>10}",
        ]
        file = ""
        for line in self.lines:
            if line.file != file:
                text.append(file := line.file)
            shown = f"{line.number:>6}  {line.code}"
            count = sum(not k.depth for k in line.kernels)
            text.append(f"{shown if len(shown) <= 44 else shown[:43] + '…':<44} {count:>7} {_time(line.seconds):>10}")
        reasons = ["", *map(str, self.causes)] if self.causes else []
        note = _NOTE_OF_READS if self.reads else _NOTE
        return "\n".join([*text, *reasons, "", note, *(["", str(self.tuned)] if self.tuned else [])])

    def _kernel(self, k: Timed) -> str:
        name = "  " * k.depth + k.name
        share = k.seconds / self.seconds if self.seconds else 0
        rates = (_rate(k.flops, k.seconds, self.peak.flops), _rate(k.bytes, k.seconds, self.peak.bytes))
        shown = name if len(name) <= 44 else name[:43] + "…"
        return f"{shown:<44} {k.runs:>7} {_time(k.seconds):>10} {share:>6.0%} {rates[0]:>13} {rates[1]:>13}".rstrip()


_NOTE = (
    "A line is measured separately: its operands are in memory, and its results go to memory. In the whole program,\n"
    "operations of several lines share a kernel. The percentages are the shares of the rates that numpy reaches."
)


_NOTE_OF_READS = (
    "The function reads values, so it was run instead of traced. A line has the kernels that ran when it read a\n"
    "value, including those of earlier lines. The kernels of the results run last, and belong to no line.\n"
    "The percentages are the shares of the rates that numpy reaches."
)


def _time(seconds: float) -> str:
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.1f} µs" if seconds >= 1e-6 else f"{seconds * 1e9:.0f} ns"


def _rate(n: float, seconds: float, peak: float) -> str:
    return f"{n / seconds / 1e9:.1f} ({n / seconds / peak:4.0%})" if n and seconds else ""


def profile(f: Callable[..., Any], *args: Any, tune: TuneLevel | None = None) -> Profile:
    """Measure the time of `f(*args)` by kernel and by source line.

    Args:
        f: A function of tensors or pytrees of tensors, as for `explain`.  Of a compiled function, the original function
            is profiled.  Results other than tensors and numbers, such as text, are ignored.  A function that reads
            values, for example by `item` or `backward`, is run once instead of traced.
        *args: The arguments of `f`; without arguments, the defaults of its parameters.
        tune: The level at which the kernels are autotuned first, as in `jit`.  A compiled `f` has its own default.

    Returns:
        The kernels of one call, including the kernels in loop steps, with their time, operations and bytes.  The source
        lines, each measured separately.  The known causes of slow kernels, each with a change that removes it.  With
        `tune`, the time that tuning saved.  `print` shows everything.

    Raises:
        OptionError: `tune` is not one of its levels.
        BrandedError: The function can neither be traced nor run.

    Example:
        >>> from branded import vmap
        >>> from branded.tools.profile import profile
        >>> from tinygrad import Tensor
        >>> found = profile(vmap(lambda x: x.exp().sum()), Tensor.rand(8, 8))
        >>> len(found.kernels), found.seconds > 0
        (1, True)

    Source: `DEBUG=2` of tinygrad, for the kernels; line_profiler, for the lines.
    """
    kwargs: dict[str, Any] = {}
    check_tune(tune, "profile")
    traced: list[float] = []
    traces = None
    if isinstance(f, Jitted):
        tune = tune or f._tune
        traces = f.traces
        f = f._f
    if not args:
        args, kwargs = example_arguments(f)
    args, kwargs = tree.rebuild((tuple(args), kwargs), map(_as_tensor, tree.leaves((tuple(args), kwargs))))
    realize_tensors(tree.leaves((args, kwargs)))
    fixed = [i for i, a in enumerate(args) if not any(isinstance(x, Tensor) for x in tree.leaves(a))]
    reads: list[object] = []
    try:
        with eager_cache.watchers.during(reads.append):
            expr = make_expr_for("profile", _with_tensor_results(f, traced), fixed, with_writes=True)(*args, **kwargs)
    except BrandedError as error:
        reads.append(error)
    if reads:
        try:
            return Profile(*kernels_of_run(f, args, kwargs), peak(), reads=True)
        except Exception as error:
            raise next((e for e in reads if isinstance(e, BrandedError)), error) from None
    note_many_steps("profile", expr.program)
    tried = Tune(tune, {})
    kernels, lines = whole_and_lines(expr, expr._argument_leaves(args, kwargs), tried)
    tuned = Report(tried.found.values())
    return Profile(kernels, lines, peak(), tuned, min(traced) if traces is None else 0.0, traces or 0)


def _with_tensor_results(f: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Return `f` with its tensors and numbers as results; each call adds its time to `seconds`."""

    @functools.wraps(f)
    def tensors(*args: Any, **kwargs: Any) -> list[Any]:
        start = time.perf_counter()
        out = f(*args, **kwargs)
        seconds.append(time.perf_counter() - start)
        return [x for x in tree.leaves(out) if isinstance(x, Tensor | int | float)]

    return tensors


def _as_tensor(x: Any) -> Any:
    t = tree.as_tensor(x) if is_array(x) else None
    return x if t is None else t


@functools.cache
def peak() -> Peak:
    """Measure numpy's matrix multiplication of 512³ and its pass through 64 MB, once: the best of twenty runs."""
    a, out = np.ones((512, 512), np.float32), np.empty((512, 512), np.float32)
    x, y = (np.ones(1 << 23, np.float32) for _ in range(2))
    product = min(seconds_of(lambda: np.matmul(a, a, out=out)) for _ in range(20))
    walk = min(seconds_of(lambda: np.add(x, 1, out=y)) for _ in range(20))
    return Peak(2 * 512**3 / product, 2 * x.nbytes / walk)
