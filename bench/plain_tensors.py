"""The cost of `import branded` for plain tensors: `python -m bench plain`.

Three processes run the same calls of plain tinygrad in turns: two without `branded`, and one after `import branded`.
Each round gives a ratio of CPU times. The table has the median over the rounds of several groups of processes, since
one process is slower than the next by chance. The ratio of the two plain processes shows how exact the figures are.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measure import Report, machine
from tests.plain.compare import environment

CALLS = """
import gc, sys, time
if sys.argv[1] == "branded":
    import branded
import numpy as np
from tinygrad import Tensor, TinyJit
a, b = (Tensor(np.full((4, 4), i, dtype=np.float32)).realize() for i in (1, 2))
f = TinyJit(lambda x: (x + 1).realize())
calls = {
    "Tensor.add": (lambda: a.add(b), 1000),
    "a + 1": (lambda: a + 1, 500),
    "reshape": (lambda: a.reshape(16), 1000),
    "a[1:3]": (lambda: a[1:3], 300),
    "realize, in memory": (lambda: a.realize(), 1000),
    "(a + b).realize()": (lambda: (a + b).realize(), 20),
    "numpy, in memory": (lambda: a.numpy(), 300),
    "(a @ b).numpy()": (lambda: (a @ b).numpy(), 10),
    "TinyJit": (lambda: f(a), 100),
    "gradient": (lambda: (a * b).sum().gradient(a), 5),
}
for call, n in calls.values():
    for _ in range(5):
        call()
gc.collect()
gc.disable()
print(*calls, sep=";", flush=True)
for line in sys.stdin:
    call, n = calls[line.strip()]
    start = time.process_time()
    for _ in range(n):
        call()
    print((time.process_time() - start) / n, flush=True)
"""
SIDES = ("plain", "again", "branded")


class Process:
    """A process that takes the time of calls."""

    def __init__(self, side: str, env: dict[str, str]) -> None:
        words, pipe = [sys.executable, "-c", CALLS, side], subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=env)
        self.names = self._line().strip().split(";")

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def time(self, name: str) -> float:
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self._line())

    def end(self) -> None:
        self.process.communicate()


class Cost(NamedTuple):
    """Return the time of a call in one round."""

    seconds: float
    """Without the import, the mean of the two processes."""
    again: float
    """The second process to the first."""
    branded: float
    """The process with the import to the mean of the others."""


def group(rounds: int, env: dict[str, str]) -> dict[str, list[Cost]]:
    """Return the rounds of one group of processes, for each call."""
    processes = {side: Process(side, env) for side in SIDES}
    orders, costs = list(itertools.permutations(SIDES)), {}
    random.Random(0).shuffle(orders)
    try:
        for name in processes["plain"].names:
            taken = []
            for i in range(rounds):
                times = {side: processes[side].time(name) for side in orders[i % len(orders)]}
                plain = (times["plain"] + times["again"]) / 2
                taken.append(Cost(plain, times["again"] / times["plain"], times["branded"] / plain))
            costs[name] = taken
    finally:
        for process in processes.values():
            process.end()
    return costs


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench plain", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=36, help="of a group of processes (default 36)")
    parser.add_argument("--groups", type=int, default=5, help="of three processes (default 5)")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the tables to a file")
    args = parser.parse_args(argv)
    report = Report()
    report.write("# Plain tensors after `import branded`", "", *machine())
    with tempfile.TemporaryDirectory() as folder:
        groups = [group(args.rounds, environment(Path(folder))) for _ in range(args.groups)]
    row = report.table("CPU time of a call", "call", "plain µs", "plain again", "after import", "lowest", "highest")
    for name in groups[0]:
        rounds = [cost for costs in groups for cost in costs[name]]
        medians = [statistics.median(cost.branded for cost in costs[name]) for costs in groups]
        seconds, again, branded = (statistics.median(column) for column in zip(*rounds, strict=True))
        row(name, seconds * 1e6, again, branded, min(medians), max(medians))
    report.write("", "Medians of ratios; `lowest` and `highest`: of the groups of processes.")
    if args.markdown is not None:
        args.markdown.write_text("\n".join(report.lines) + "\n")
