"""Print the output of the demo: headings, source code, observed types, and the times of the loop and of vmap."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from tinygrad.helpers import tqdm

from branded import tree
from branded.core.values import brands, vec_type
from branded.learn.demo.digits import Array

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

WIDTH = 88
MARGIN = " " * 3
INDENT = " " * 6


def style_text(text: str, *codes: int) -> str:
    """Return `text` in color if the output is a terminal with colors."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{';'.join(map(str, codes))}m{text}\033[0m"


BOLD, DIM, GREEN, CYAN = 1, 2, 32, 36


def heading(title: str) -> None:
    print(f"{style_text(title, BOLD)}\n{style_text('─' * WIDTH, DIM)}", flush=True)


def say(text: str) -> None:
    print(textwrap.fill(" ".join(text.split()), WIDTH, initial_indent=MARGIN, subsequent_indent=MARGIN) + "\n")


def code(*shown: Callable[..., Any] | type | str) -> None:
    """Print the source of functions and classes as in their files, and strings unchanged."""
    for thing in shown:
        source = thing if isinstance(thing, str) else textwrap.dedent(inspect.getsource(thing))
        lines = [line for line in source.strip().splitlines() if not line.startswith("@")]
        print(style_text(textwrap.indent("\n".join(lines), INDENT), CYAN) + "\n")


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and texts in two columns; an empty name continues the previous text."""
    pairs = list(pairs)
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        print(f"{INDENT}{name:<{width}}  {style_text(text, GREEN)}")
    print()


class Watch:
    """A decorator that records the types of the arguments and results of functions of per-example values.

    Example:
        >>> from branded import vmap
        >>> from branded.learn.demo.show import Watch
        >>> from tinygrad import Tensor
        >>> watch = Watch()
        >>> double = watch(lambda x: x * 2)
        >>> _ = vmap(double)(Tensor.ones(3, 2))
        >>> watch.types
        ['Vec[x:3, f32[2]]', 'Vec[x:3, f32[2]]']
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.types: list[str] = []

    def clear(self) -> None:
        self.names.clear()
        self.types.clear()

    def __call__(self, f: F) -> F:
        parameters = tuple(inspect.signature(f).parameters)
        call = f"{f.__name__}({', '.join(parameters)})"

        @functools.wraps(f)
        def watched(*args: Any) -> Any:
            if not any(map(brands, tree.leaves(args))):
                return f(*args)
            for name, x in zip(parameters, args, strict=True):
                self._note(name, x)
            out = f(*args)
            self._note(call, out)
            return out

        return watched  # type: ignore[return-value]

    def _note(self, name: str, x: Any) -> None:
        self.names += tree.paths(x, name)
        self.types += map(vec_type, tree.leaves(x))

    def pairs(self) -> list[tuple[str, str]]:
        """Return each name once, with its first type."""
        first: dict[str, str] = {}
        for name, text in zip(self.names, self.types, strict=True):
            first.setdefault(name, text)
        return list(first.items())


def progress(steps: int, what: str) -> tqdm[int]:
    """Return a progress bar on stderr; if stderr is not a terminal, such as a log, it updates once a second."""
    sys.stdout.flush()
    return tqdm(desc=f"{MARGIN}{what:<19}", total=steps, unit=" epochs", rate=100 if sys.stderr.isatty() else 1)


class Timing(NamedTuple):
    """A measured run: its name, its amount of work, and its time."""

    who: str
    work: str
    seconds: float


def warm(f: Callable[..., object], *args: Any) -> None:
    """Call a `TinyJit` until it replays: the first call runs, the second captures, later calls replay."""
    for _ in range(3):
        f(*args)


def best_of(runs: int, f: Callable[[], R]) -> tuple[R, float]:
    """Return the result of `f`, and the shortest time of several runs."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = f()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def check_same(got: Array, want: Array, tolerance: float) -> float:
    """Return the largest difference between two arrays.

    Raises:
        ArithmeticError: The difference exceeds `tolerance` or is NaN, or the shapes differ.
    """
    if got.shape != want.shape:
        raise ArithmeticError(f"vmap and the loop differ: the shapes are {got.shape} and {want.shape}")
    difference = float(np.abs(got - want).max()) if got.size else 0.0
    if not difference <= tolerance:
        raise ArithmeticError(f"vmap and the loop differ by {difference}, which is more than {tolerance}")
    return difference


def compare(loop: Timing, mapped: Timing, *more: Timing, difference: float, tolerance: float) -> float:
    """Print the times of the loop, of vmap and of other runs of the same work; return the speedup of vmap."""
    timings = (loop, mapped, *more)
    who, work = max(len(t.who) for t in timings), max(len(t.work) for t in timings)
    ratio = loop.seconds / mapped.seconds
    for t in timings:
        end = style_text(f"   {times(ratio)} as fast", BOLD) if t is mapped else ""
        print(f"{INDENT}{t.who:<{who}}   {t.work:<{work}}  {duration(t.seconds):>10}{end}".rstrip())
    print(f"{INDENT}same values: the largest difference is {difference:.2g} (tolerance {tolerance:g})\n", flush=True)
    return ratio


def duration(seconds: float) -> str:
    return f"{seconds:.2f} s " if seconds >= 1 else f"{1000 * seconds:.2f} ms"


def times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


SHADES = " ░▒▓█"


def drawing(image: Array, ink: int) -> list[str]:
    """Return an image as lines of characters, two per pixel, since a character is twice as high as wide."""
    return ["".join(SHADES[round(int(p) * (len(SHADES) - 1) / ink)] * 2 for p in row) for row in image]
