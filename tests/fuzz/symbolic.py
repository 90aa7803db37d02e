"""Check sizes that are a bound Variable: `python -m tests.fuzz.symbolic --programs 500 --seed 7`.

Each program takes rows `x[:n]` of a tensor in memory.  It runs with `n` bound to a number, and must return the result
of numpy for the same program with that number.  If it raises or is incorrect, plain tinygrad runs it in another
process.
A program that also fails there is counted separately, as a limit of tinygrad.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, Variable

LONGEST, WIDTH = 16, 4
WAYS = ("plain", "jit", "shared", "mapped", "grad", "scan", "fori_loop")
"""The ways to run a program, each also inside of a TinyJit; all but the first use `branded`."""

# Building blocks of a program, by the shapes of their operand and result.  `n` is the symbolic size.
_ROWS = "n4"
_PIECES: dict[str, dict[str, str]] = {
    _ROWS: {
        "({} * 2 + 1)": "n4",
        "{}.tanh()": "n4",
        "({} > 0).where({}, 0.5)": "n4",
        "{}.softmax(-1)": "n4",
        "{}.softmax(0)": "n4",
        "{}.cumsum(0)": "n4",
        "{}.flip(0)": "n4",
        "({} - {}.mean(0))": "n4",
        "({} @ w)": "n4",
        "({} @ w).relu()": "n4",
        "{}.reshape(n, 2, 2).sum(1).cat({}[:, :2], dim=1)": "n4",
        "{}.contiguous()": "n4",
        "({} * Tensor.arange(n).reshape(n, 1))": "n4",
        "({} @ {}.T)": "nn",
        "({}.unsqueeze(1) - {}.unsqueeze(0)).square().sum(-1)": "nn",
        "({}.T @ {})": "44",
        "{}.sum(0)": "4",
        "{}.max(0)": "4",
        "{}.std(0)": "4",
        "{}.pad(((0, 16 - n), (0, 0))).sum(0)": "4",
        "{}.cat(w).sum(0)": "4",
        "{}.logsumexp(1)": "n",
        "{}.mean(1)": "n",
    },
    "nn": {
        "({} * 0.5)": "nn",
        "{}.softmax(-1)": "nn",
        "{}.T": "nn",
        "({} @ {} * 0.1)": "nn",
        "({}.softmax(-1) @ x)": "n4",
        "{}.sum(0)": "n",
        "{}.max(1)": "n",
    },
    "44": {"({} @ w * 0.1)": "44", "(x @ {} * 0.1)": "n4", "{}.T": "44", "{}.softmax(-1)": "44", "{}.sum(0)": "4"},
    "n": {
        "({} + 1)": "n",
        "{}.softmax(0)": "n",
        "({} @ x)": "4",
        "({}.unsqueeze(1) * x)": "n4",
        "{}.reshape(n, 1).expand(n, 4)": "n4",
        "({}.unsqueeze(1) + {})": "nn",
    },
    "4": {"({} * w[0])": "4", "(x + {})": "n4", "(x @ {})": "n", "({} @ w)": "4"},
}


def program(rng: random.Random) -> tuple[str, str, int, int]:
    """Return Python code in `x`, `w` and `n`, the way to run it, and two sizes."""
    shape, text = _ROWS, "x"
    for _ in range(rng.randint(1, 4)):
        if len(text) > 200:
            break
        piece, then = rng.choice(list(_PIECES[shape].items()))
        text, shape = piece.replace("{}", text), then
    first, second = rng.sample(range(1, LONGEST + 1), 2)
    return text, rng.choice(WAYS) + rng.choice(("", " in TinyJit")), first, second


def _inputs() -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((LONGEST, WIDTH)), rng.standard_normal((WIDTH, WIDTH))
    return Tensor(x.astype(np.float32)).realize(), Tensor(w.astype(np.float32)).realize()


def _function(text: str) -> Callable[[Tensor, Tensor, Any], Tensor]:
    found: Callable[[Tensor, Tensor, Any], Tensor] = eval(f"lambda x, w, n: {text}", {"Tensor": Tensor})
    return found


def _called(text: str, way: str) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """Return the program as a function of all rows, the weights and the size."""
    f, way = _function(text), way.removesuffix(" in TinyJit")
    if way == "plain":
        return lambda x, w, n: f(x[:n], w, n)
    from branded import fori_loop, grad, jit, scan, vmap

    if way == "jit":
        step = jit(lambda x, w: f(x, w, x.shape[0]))
        return lambda x, w, n: step(x[:n], w)
    if way == "shared":
        return lambda x, w, n: vmap(lambda w: f(x[:n], w, n).sum(0))(Tensor.stack(w, w * 2))
    if way == "mapped":
        return lambda x, w, n: vmap(lambda x: f(x[:n], w, n).sum(0))(Tensor.stack(x, x * 2))
    if way == "scan":
        return lambda x, w, n: scan(lambda c, w: (c + f(x[:n], w, n).sum(), c), Tensor(0.0), Tensor.stack(w, w * 2))[0]
    if way == "fori_loop":
        return lambda x, w, n: fori_loop(0, n, lambda i, c: c + (f(x[:n], w, n) * x[i].sum()).sum(), Tensor(0.0))
    return lambda x, w, n: grad(lambda w: f(x[:n] * w[0], w, n).square().sum())(w)


def _read(y: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """Return the elements of a tensor whose shape may be symbolic."""
    return np.asarray(y[tuple(slice(0, size) for size in shape)].numpy() if shape else y.numpy())


def values(text: str, way: str, sizes: tuple[int, ...], wanted: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Return the results with `n` bound to each size."""
    x, w = _inputs()
    f, n = _called(text, way), Variable("n", 1, LONGEST)
    if not way.endswith(" in TinyJit"):
        return [_read(f(x, w, n.bind(k)).clone().realize(), shape) for k, shape in zip(sizes, wanted, strict=True)]
    step = TinyJit(lambda x, w, n: f(x, w, n).contiguous().realize())
    found = []
    for k, shape in [*zip(sizes, wanted, strict=True)] * 3:
        found.append(_read(step(x, w, n.bind(k)), shape).copy())
    return found[-len(sizes) :]


def check(text: str, way: str, sizes: tuple[int, ...]) -> str | None:
    """Return None if the program is correct, or a line that describes the failure."""
    from tests.support.by_numpy import read

    x, w = _inputs()
    with Context(DEV="PYTHON"):
        right = [np.asarray(read(_called(text, way)(x.to("PYTHON"), w.to("PYTHON"), k))) for k in sizes]
    try:
        found = values(text, way, sizes, [r.shape for r in right])
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0][:150] if str(e) else ''}"
    for k, r, y in zip(sizes, right, found, strict=True):
        if not np.allclose(r, y, rtol=2e-4, atol=2e-4, equal_nan=True):
            return f"n={k}: off by {np.abs(r - y).max():.3g}"
    return None


_PLAIN = """
import sys
from tests.fuzz.symbolic import values
text, way, *rest = sys.argv[1:]
sizes = [int(k) for k in rest]
for y in values(text, way, sizes, [eval(s) for s in sys.stdin.read().splitlines()]):
    print(y.tolist())
"""


def plain_fails(text: str, sizes: tuple[int, ...]) -> bool:
    """Return whether the program fails in tinygrad without `branded`."""
    from tests.support.by_numpy import read

    x, w = _inputs()
    right = [np.asarray(read(_called(text, "plain")(x, w, k))) for k in sizes]
    env = {**os.environ, "DEV": Device.DEFAULT, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", _PLAIN, text, "plain", *map(str, sizes)],
        env=env,
        input="\n".join(str(r.shape) for r in right),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return True
    found = [np.array(eval(line, {"nan": np.nan, "inf": np.inf})) for line in done.stdout.splitlines()]
    return not all(np.allclose(r, y, rtol=2e-4, atol=2e-4, equal_nan=True) for r, y in zip(right, found, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.symbolic", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    wrong = limits = 0
    for _ in range(args.programs):
        text, way, *sizes = program(rng)
        said = check(text, way, tuple(sizes))
        if said is None:
            continue
        if plain_fails(text, tuple(sizes)):
            limits += 1
            continue
        wrong += 1
        print(f"{way}, n in {sizes}: {text}\n  {said}", flush=True)
    print(f"seed {args.seed}: {args.programs} programs, {wrong} wrong, {limits} that plain tinygrad cannot do either")
    return wrong > 0


if __name__ == "__main__":
    import branded  # noqa: F401  its patches are under test

    sys.exit(main())
