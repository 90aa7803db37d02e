"""`python -m bench.loops`: compare loops with `jax.lax`: times of replay, tracing and compiling by length."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Device, Tensor

import branded
from bench.measure import Report, check, interleave, machine, milliseconds, ratio, results


class Loop(NamedTuple):
    """A program written once, for both libraries: `m` has the transforms and the operations."""

    name: str
    program: Callable[..., Callable[..., Any]]
    inputs: tuple[np.ndarray, ...]


_random = np.random.default_rng(0)


def _floats(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (_random.normal(size=shape) * scale).astype(np.float32)


def _wave(m: Any) -> Callable[..., Any]:
    return lambda xs: m.scan(lambda c, x: (m.sin(c * 0.9 + x), c), xs[0] * 0, xs)


def _rnn(m: Any) -> Callable[..., Any]:
    def cell(w: Any) -> Callable[..., Any]:
        def step(h: Any, x: Any) -> Any:
            h = m.tanh(w @ h + x)
            return h, h

        return step

    return lambda w, xs: m.scan(cell(w), xs[0] * 0, xs)


def _total(m: Any) -> Callable[..., Any]:
    return m.grad(lambda w, xs: m.sum(_rnn(m)(w, xs)[1]))


def _batch(m: Any) -> Callable[..., Any]:
    return lambda w, xs: m.vmap(lambda x: _rnn(m)(w, x)[0], in_axes=1)(xs)


def _collatz(m: Any) -> Callable[..., Any]:
    def trips(n: Any) -> Any:
        step = lambda s: (m.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
        return m.while_loop(lambda s: s[0] > 1, step, (n, n * 0))[1]

    return m.vmap(trips)


def _newton(m: Any) -> Callable[..., Any]:
    return m.vmap(m.grad(lambda a: m.fori_loop(0, 20, lambda i, x: x - (x * x - a) / (2 * x), a)))


LOOPS = (
    Loop("scan, 8 numbers, 10,000 steps", _wave, (_floats(10_000, 8),)),
    Loop("scan, 1,000 numbers, 1,000 steps", _wave, (_floats(1_000, 1_000),)),
    Loop("RNN of 128, 256 steps", _rnn, (_floats(128, 128, scale=0.08), _floats(256, 128))),
    Loop("RNN of 128, 256 steps, gradient", _total, (_floats(128, 128, scale=0.08), _floats(256, 128))),
    Loop("vmap of 32 RNNs of 128, 64 steps", _batch, (_floats(128, 128, scale=0.08), _floats(64, 32, 128))),
    Loop("vmap of while_loop: Collatz to 4,096", _collatz, (np.arange(1, 4097).astype(np.int32),)),
    Loop("vmap of grad of fori_loop: 1,000 roots", _newton, (np.linspace(1, 9, 1000).astype(np.float32),)),
)


class _Ours:
    scan, while_loop = staticmethod(branded.scan), staticmethod(branded.while_loop)
    fori_loop = staticmethod(branded.fori_loop)
    vmap, grad = staticmethod(branded.vmap), staticmethod(branded.grad)
    sin, tanh, sum = (staticmethod(lambda x, f=f: getattr(x, f)()) for f in ("sin", "tanh", "sum"))

    @staticmethod
    def where(c: Any, a: Any, b: Any) -> Any:
        return c.where(a, b)


def _ours(loop: Loop) -> Callable[[], Any]:
    f = loop.program(_Ours)
    run, xs = branded.jit(lambda *xs: tuple(results(f(*xs)))), [Tensor(x).realize() for x in loop.inputs]

    def once() -> Any:
        out = run(*xs)
        Device[Device.DEFAULT].synchronize()
        return out

    return once


def _jax(loop: Loop) -> Callable[[], Any] | None:
    try:
        import jax
        import jax.numpy as jnp
        from jax import lax
    except ImportError:
        return None

    class M:
        scan, while_loop, fori_loop = lax.scan, lax.while_loop, lax.fori_loop
        vmap, grad, sin, tanh, sum, where = jax.vmap, jax.grad, jnp.sin, jnp.tanh, jnp.sum, jnp.where

    run, xs = jax.jit(loop.program(M)), [jnp.asarray(x) for x in loop.inputs]
    return lambda: jax.block_until_ready(run(*xs))


def _seconds(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def by_length(report: Report) -> None:
    """The time to trace, and to trace, compile and run for the first time."""
    row = report.table("By the number of steps", "", "trace (ms)", "first run (ms)")
    Tensor([0.0]).sin().realize()  # the device is awake
    for n, scale in ((10, 0.91), (100, 0.92), (1_000, 0.93), (10_000, 0.94)):
        xs = Tensor(_floats(n, 8)).realize()
        body = lambda c, x, scale=scale: ((c * scale + x).sin(), c)  # noqa: E731  another body: nothing is in a cache
        trace = _seconds(lambda: branded.scan(body, Tensor.zeros(8), xs))
        again = lambda c, x, scale=scale: ((c * scale + x).cos(), c)  # noqa: E731
        first = _seconds(lambda: Tensor.realize(*branded.scan(again, Tensor.zeros(8), xs)))
        row(f"scan, {n:,} steps", trace * 1e3, first * 1e3)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.loops", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each loop is measured (default 3)")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the output to a file")
    options = parser.parse_args(argv)
    report = Report()
    report.write(f"# Loops on {Device.DEFAULT}", "", *machine())
    peer = _jax(LOOPS[0]) is not None
    report.write(f"- jax {version('jax')}, on its CPU" if peer else "- jax is not installed", "")
    report.write("Alternating calls of branded.jit and jax.jit. A ratio above 1 means that jax is faster.", "")
    columns = ("branded (ms)", "jax (ms)", "ratio") if peer else ("branded (ms)",)
    row = report.table("Replay", "", *columns)
    for loop in LOOPS:
        programs = {"ours": _ours(loop)} | ({"jax": j} if (j := _jax(loop)) is not None else {})
        if "jax" in programs:
            check(loop.name, programs["ours"](), programs["jax"]())
        times = interleave(programs, options.seconds)
        if "jax" in programs:
            row(loop.name, milliseconds(times, "ours"), milliseconds(times, "jax"), ratio(times, "ours", "jax"))
        else:
            row(loop.name, milliseconds(times, "ours"))
    report.write("")
    by_length(report)
    if options.markdown is not None:
        options.markdown.write_text("\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
