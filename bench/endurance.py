"""`python -m bench.endurance --minutes 60`: train an ensemble that is killed and resumed, and one that is not.

The ensemble is that of the demo: networks that learn to read digits, each with its own random key, in chunks that are
compiled once and saved. Two runs work at the same time, for about the given number of minutes: one without a break, and
one in three processes, two of which are killed at random. All weights and losses must be equal bit for bit.
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from tinygrad import Tensor

from bench.measure import Report
from branded import Brand, Vec, jit, scan, vmap
from branded import random as keys
from branded.learn.demo import digits
from branded.learn.demo.ensemble import HIDDEN, Network, train_step

S = TypeVar("S", bound=Brand)
CHUNK, EPOCHS, BATCH, SHORT = 10, 20, 100, 20
ROOT = Path(__file__).parent.parent


def start(key: Vec[S]) -> Network[S]:
    """The weights from which a network starts."""
    first, last = keys.split(key)
    return Network(
        keys.normal(first, (64, HIDDEN)) * (2 / 64) ** 0.5,
        Tensor.zeros(HIDDEN),
        keys.normal(last, (HIDDEN, 10)) * (2 / HIDDEN) ** 0.5,
        Tensor.zeros(10),
    )


def trained(key: Vec[S], images: Tensor, labels: Tensor) -> Any:
    """Return a network trained for this number of epochs, and its losses."""

    def epoch(network: Any, _: None) -> Any:
        network, losses = scan(lambda n, batch: train_step(n, *batch), network, (images, labels))
        return network, losses.mean()

    return scan(epoch, start(key), None, length=EPOCHS)


def ensemble(networks: int, save: str | None) -> list[np.ndarray]:
    """Return the weights and losses of this number of networks."""
    data = digits.load()
    n = len(data.labels) // BATCH * BATCH
    images = Tensor(data.rows[:n].reshape(-1, BATCH, 64)).realize()
    labels = Tensor(data.labels[:n].astype(np.int32).reshape(-1, BATCH)).realize()
    run = vmap(jit(trained), in_axes=(0, None, None), chunk_size=CHUNK, save=save, progress=True)
    network, losses = run(keys.split(keys.key(0), networks), images, labels)
    return [x.numpy() for x in (*network, losses)]


class _Child:
    """A process that works the ensemble out."""

    def __init__(self, networks: int, save: Path | None, out: Path) -> None:
        words = [sys.executable, "-m", "bench.endurance", "--child", str(networks), str(save or ""), str(out)]
        self.process, self.start = subprocess.Popen(words, cwd=ROOT), time.monotonic()

    def ended(self) -> float:
        """Its seconds."""
        if self.process.wait() != 0:
            raise SystemExit("the ensemble stopped by itself")
        return time.monotonic() - self.start

    def killed(self, at: Path, chunks: int) -> int:
        """Kill the process after this number of saved chunks, in the middle of the next; return the final number."""
        while _done(at) < chunks and self.process.poll() is None:
            time.sleep(0.05)
        time.sleep(random.random() * 0.2)
        self.process.send_signal(signal.SIGKILL)
        if self.process.wait() != -signal.SIGKILL:
            raise SystemExit("the ensemble had stopped before it could be killed")
        return _done(at)


def _done(at: Path) -> int:
    return len(_saved(at))


def _saved(at: Path) -> list[Path]:
    return list(at.glob("chunk-*.safetensors"))


class Found(NamedTuple):
    """How many networks and chunks, the chunks there were at each kill, seconds without a break and with them."""

    networks: int
    chunks: int
    kills: list[int]
    seconds: float
    interrupted: float
    same: bool


def measured(minutes: float, folder: Path) -> Found:
    """The two runs, side by side, of a length that a short one foretells."""
    _Child(SHORT * CHUNK, folder / "short", folder / "short.npz").ended()
    saved = sorted(p.stat().st_mtime for p in _saved(folder / "short"))
    each = max((saved[-1] - saved[0]) / (SHORT - 1), 1e-3)  # the first chunk waits for compilers
    chunks = max(6, math.ceil(minutes * 60 / each))
    networks, at = chunks * CHUNK, folder / "run"
    with ThreadPoolExecutor(1) as beside:
        whole = beside.submit(_Child(networks, folder / "whole", folder / "whole.npz").ended)
        begun, kills = time.monotonic(), list[int]()
        for share in (random.uniform(0.1, 0.45), random.uniform(0.55, 0.9)):
            kills.append(_Child(networks, at, folder / "again.npz").killed(at, round(share * chunks)))
        _Child(networks, at, folder / "again.npz").ended()
        interrupted, seconds = time.monotonic() - begun, whole.result()
    one, other = np.load(folder / "whole.npz"), np.load(folder / "again.npz")
    *_, losses = one.values()
    if not (losses[:, -1] < losses[:, 0]).all():
        raise SystemExit("a network has learned nothing")
    same = all(np.array_equal(one[k], other[k]) for k in one.files)
    return Found(networks, chunks, kills, seconds, interrupted, same)


def bench(report: Report, minutes: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = measured(minutes, Path(folder))
    first, second = found.kills
    same = "equal, bit for bit" if found.same else "NOT equal"
    whole, parts = (f"{t / 60:.1f} minutes" for t in (found.seconds, found.interrupted))
    report.write(
        f"The demo's ensemble, {found.networks:,} networks of {EPOCHS} epochs, in {found.chunks:,} chunks, each saved:",
        f"{whole} without a break; {parts} when it was killed after {first:,} and after {second:,} chunks, and begun",
        f"again. All weights and losses are {same}.",
    )
    if not found.same:
        raise SystemExit("the results differ")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.endurance", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="the length of each of the two runs (default 60)")
    parser.add_argument("--child", nargs=3, metavar=("NETWORKS", "SAVE", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        networks, save, out = options.child
        arrays = ensemble(int(networks), save or None)
        np.savez(f"{out}.part.npz", *arrays)
        Path(f"{out}.part.npz").replace(out)
        return
    bench(Report(), options.minutes)


if __name__ == "__main__":
    main()
