"""Interrupts at any point: afterwards the global state is unchanged, and the next call is correct.

    python -m tests.fuzz.interrupts --points 2000 --seed 0

CPython runs signal handlers when a Python function is entered and when a C function returns, and `sys.setprofile` calls
a function at exactly these points.  So a program runs once to count the points, and then repeatedly with an exception
at one of them: half of the points are in branded, the others anywhere, including tinygrad and the standard library.
`--signals` sends real signals with a timer.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor, function, nn
from tinygrad.engine.realize import capturing
from tinygrad.function import _function
from tinygrad.helpers import ContextVar

import branded
from branded import (
    brand,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    functional_call,
    grad,
    jacfwd,
    jit,
    make_expr,
    psum,
    scan,
    vmap,
    while_loop,
)
from branded import random as keys
from branded.core.tracing.recording import is_recording
from branded.core.tracing.state import is_differentiating
from branded.graph.scope import open_brands

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).realize()
V = Tensor([0.5, -1.0, 2.0]).realize()
N = Tensor([3, 5, 2, 7]).realize()


def nested() -> Any:
    return vmap(lambda a: vmap(lambda b: (a * b).sum() + psum(b, "j").sum(), axis_name="j")(X))(X)


def per_example_gradients() -> Any:
    return vmap(lambda x: grad(lambda w: (w * x).sin().sum())(V))(X), jacfwd(lambda v: (v * v).sum())(V)


def writes_in_a_gradient() -> Any:
    def loss(w: Tensor) -> Tensor:
        y = w * 2
        y[0:1] = w[1:2] * 3
        return (y * y).sum()

    return vmap(grad(loss))(X)


def scans() -> Any:
    return vmap(lambda row: scan(lambda c, x: (c * 0.5 + x, c), Tensor(0.0), row))(X)


def gradient_of_a_scan() -> Any:
    return vmap(grad(lambda row: scan(lambda c, x: (c * 0.5 + x * x, c), Tensor(0.0), row)[0]))(X)


def while_loops() -> Any:
    return vmap(lambda n: while_loop(lambda c: c < 40, lambda c: c * 2 + 1, n))(N)


def nested_loops() -> Any:
    return fori_loop(0, 4, lambda i, c: fori_loop(0, 3, lambda j, d: d * 0.5 + 1, c), V)


def branches() -> Any:
    return vmap(lambda x: grad(lambda w: cond(x.sum() > 7, lambda: (w * x).sum(), lambda: (w / x).sum()))(V))(X)


@jit
def _compiled(x: Tensor, by: Tensor) -> Tensor:
    return vmap(lambda row: (row * by).exp().sum())(x)


def compiled() -> Any:
    return _compiled(X, V)


def compiling() -> Any:
    return jit(lambda x: vmap(grad(lambda r: (r * r).sum()))(x))(X)


def blocks() -> Any:
    with brand("users", 2) as users, brand("items", 3) as items:
        return items.unvec(users.unvec(users.vec(X).sum() * items.vec(V)))


def written_down() -> Any:
    program = make_expr(vmap(lambda x: scan(lambda c, y: (c + y, None), Tensor(0.0), x)[0]))(X)
    return program(X), str(program)


class Layer:
    def __init__(self) -> None:
        self.inner = nn.Linear(3, 2)
        self.inner.weight = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).realize()
        self.inner.bias = Tensor([0.5, 1.0]).realize()

    def __call__(self, x: Tensor) -> Tensor:
        return self.inner(x).relu()


LAYER = Layer()


def modules() -> Any:
    held = {"inner.weight": X * 2, "inner.bias": V[:2]}
    return vmap(lambda x: functional_call(LAYER, held, x))(X), LAYER(X)


@custom_jvp
def _square(x: Tensor) -> Tensor:
    return x * x


@_square.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return _square(primals[0]), 3 * primals[0] * tangents[0]


@custom_vjp
def _cube(x: Tensor) -> Tensor:
    return x * x * x


_cube.defvjp(lambda x: (_cube(x), x), lambda x, ct: (ct * 2 * x,))


def custom_rules() -> Any:
    return vmap(grad(lambda x: (_square(x) + _cube(x)).sum()))(X)


def lazy_inputs() -> Any:
    """Read tensors that are not yet computed at the time of the interrupt."""
    return vmap(lambda x: x * 2)(LAZY[0]), LAZY[0].sum()


LAZY = [X * 3]


def functions() -> Any:
    return vmap(lambda x: function(lambda x, v: (x * v).sum())(x, V))(X)


def chunks() -> Any:
    return vmap(lambda x: (x * V).sum(), chunk_size=1)(X)


def draws() -> Any:
    return vmap(lambda k: keys.normal(k, (2,)))(keys.split(keys.key(7), 3))


PROGRAMS: tuple[Callable[[], Any], ...] = (
    nested,
    per_example_gradients,
    writes_in_a_gradient,
    scans,
    gradient_of_a_scan,
    while_loops,
    nested_loops,
    branches,
    compiled,
    compiling,
    blocks,
    written_down,
    modules,
    custom_rules,
    lazy_inputs,
    functions,
    chunks,
    draws,
)


# ---- state that must be unchanged ----


def values(x: Any) -> list[Any]:
    """Return the results of a program as lists of numbers."""
    if isinstance(x, tuple | list):
        return [v for y in x for v in values(y)]
    return [x.tolist() if isinstance(x, Tensor) else x]


def state() -> dict[str, Any]:
    """Return the state that a program may change while it runs, and must restore."""
    return {
        "brands": open_brands(),
        "derivatives": is_differentiating(),
        "recording": is_recording(),
        "functions": _function.depth,
        "captures": len(capturing),
        "gc": gc.isenabled(),
        "options": {k: v.value for k, v in ContextVar._cache.items() if k not in ("DEV",)},
        "methods": {k: id(v) for k, v in vars(Tensor).items()},
        "module": {k: id(v) for k, v in nn.state.get_state_dict(LAYER).items()},
        "inputs": [id(t.uop) for t in (X, V, N)],
    }


class Interrupted(Exception):
    """The exception for half of the interrupts; the others are KeyboardInterrupt, which `except Exception` misses."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress the messages about exceptions ignored in finalizers."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


class Points:
    """A function for `sys.setprofile` that counts the possible points of an interrupt, and raises at one of them."""

    def __init__(self, at: int = 0, error: BaseException | None = None) -> None:
        self.seen, self.at, self.error, self.where = 0, at, error, ""
        self.ours: list[int] = []

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call" or event == "c_return":
            self.seen += 1
            if self.error is None and frame.f_code.co_filename.startswith(OURS):
                self.ours.append(self.seen)
            if self.seen == self.at and self.error is not None:
                sys.setprofile(None)
                self.where = f"{event} in {frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})"
                raise self.error

    def run(self, program: Callable[[], Any]) -> Any:
        sys.setprofile(self)
        try:
            return values(program())
        finally:
            sys.setprofile(None)


OURS = (str(Path(branded.__file__).parent), contextlib.__file__)


def differences(program: Callable[[], Any], before: dict[str, Any], wanted: list[Any]) -> Iterator[str]:
    """Yield the differences of the state, and the error of the next call."""
    for k, v in state().items():
        if v != before[k]:
            what = sorted(n for n in v if before[k].get(n) != v[n]) if isinstance(v, dict) else f"{before[k]} -> {v}"
            yield f"{k}: {what}"
    try:
        got = values(program())
    except BaseException as error:
        yield f"the next call raises {error!r}"
    else:
        if not all(same(a, b) for a, b in zip(got, wanted, strict=True)):
            yield f"the next call gives {got}, not {wanted}"


def same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, str) else np.allclose(a, b)


def interrupt(program: Callable[[], Any], at: int, error: BaseException, wanted: list[Any]) -> list[str]:
    """Interrupt a program at one point, and describe the differences while the exception is still alive."""
    LAZY[0] = X * 3
    before, points = state(), Points(at, error)
    with quiet(), contextlib.suppress(BaseException):
        points.run(program)
    return [f"{program.__name__}, point {at}, {x}\n    {points.where}" for x in differences(program, before, wanted)]


def interrupts(program: Callable[[], Any], points: int, seed: int) -> Iterator[list[str]]:
    """Yield the differences after each of several interrupts at random points."""
    values(program())  # compile kernels
    wanted, counted = values(program()), Points()
    counted.run(program)
    chosen = random.Random(f"{program.__name__} {seed}")
    for _ in range(points):
        error: BaseException = chosen.choice([KeyboardInterrupt(), Interrupted()])
        at = chosen.choice(counted.ours) if chosen.random() < 0.5 else chosen.randint(1, counted.seen)
        yield interrupt(program, at, error, wanted)


def signals(program: Callable[[], Any], times: int, seed: int) -> Iterator[list[str]]:
    """Yield the differences after real signals at random moments."""
    values(program())
    start = time.perf_counter()
    wanted = values(program())
    takes = time.perf_counter() - start
    chosen = random.Random(f"{program.__name__} {seed}")

    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(times):
            LAZY[0] = X * 3
            before = state()
            error: BaseException | None = None
            with quiet():
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, chosen.uniform(0, takes) + 1e-6)
                        program()
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except BaseException as raised:
                    error = raised
            yield [f"{program.__name__}, signal, {x}, after {error!r}" for x in differences(program, before, wanted)]
    finally:
        signal.signal(signal.SIGALRM, old)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.interrupts", description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=2000, help="interrupts in all (default 2000)")
    parser.add_argument("--signals", type=int, default=0, help="real signals in all (default 0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the name of one program")
    args = parser.parse_args()
    programs = [p for p in PROGRAMS if args.only in (None, p.__name__)]
    done = wrong = 0
    for how, times in ((interrupts, args.points), (signals, args.signals)):
        for program in programs if times else ():
            start, n = time.monotonic(), wrong
            for found in how(program, -(-times // len(programs)), args.seed):
                done += 1
                wrong += bool(found)
                for line in found:
                    print(line, flush=True)
            print(
                f"{how.__name__}: {program.__name__}: {wrong - n} wrong, {time.monotonic() - start:.0f} s", flush=True
            )
    print(f"{done} interrupts, {wrong} left something wrong (seed {args.seed})")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
