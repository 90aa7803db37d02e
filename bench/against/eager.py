"""Compare calls with eager torch, each library in its own process, so that idle threads of one do not slow the other.

    python -m bench.against.eager LIBRARY PROGRAM FOLDER

runs one library. It writes its results into the folder, prints the number of calls in a round, and runs a round for
each line on stdin. The rounds of the two libraries alternate, first on all cores and then on one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.measure import check, ratio, results

ROOT = Path(__file__).parents[2]
PAIR = ("here", "torch")
CORES = ("all", "one")
REST = 2e-3
"""The pause after a round in seconds: the system records the time of a thread when it goes to sleep."""
LEAST_ROUNDS = 9


def is_installed() -> bool:
    return importlib.util.find_spec("torch") is not None


class Process:
    """A library that has the program ready; `calls` is 0 where it has no such operation."""

    def __init__(self, library: str, program: str, folder: str, cores: str) -> None:
        command = [sys.executable, "-m", "bench.against.eager", library, program, folder]
        if cores == "one" and hasattr(os, "sched_setaffinity"):
            core = max(os.sched_getaffinity(0))
            command = [sys.executable, "-c", _ON_ONE.format(core=core, argv=command[3:])]
        env = {**os.environ, **({"NUM_CPU_THREADS": "1"} if cores == "one" else {})}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env
        )
        self.calls: int = self._line()

    def _line(self) -> Any:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"{' '.join(map(str, self.process.args))}: it ended")
        return json.loads(line)

    def round(self, clock: str) -> float:
        """The seconds of one call."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return float(self._line()[clock]) / self.calls

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.communicate()


_ON_ONE = "import os; os.sched_setaffinity(0, {{{core}}}); from bench.against import eager; eager.main({argv})"


def eager(program: str, seconds: float, clock: str) -> dict[str, Any] | None:
    """For all cores and for one the time of a call of each, and the median of ours over torch's; None without it."""
    found = {}
    for cores in CORES:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            sides = [stack.enter_context(Process(name, program, folder, cores)) for name in PAIR]
            if not all(side.calls for side in sides):
                return None
            ours, theirs = (list(_kept(folder, name)) for name in PAIR)
            check(program, ours, theirs)
            found[cores] = _rounds(sides, seconds, clock)
    return found


def _rounds(sides: Sequence[Process], seconds: float, clock: str) -> dict[str, Any]:
    times: dict[Process, list[float]] = {side: [] for side in sides}
    end = time.perf_counter() + seconds
    while len(times[sides[0]]) < LEAST_ROUNDS or time.perf_counter() < end:
        for side in sides[:: -1 if len(times[sides[0]]) % 2 else 1]:
            times[side].append(side.round(clock))
    named = {name: times[side] for name, side in zip(PAIR, sides, strict=True)}
    return {**{name: median(ts) for name, ts in named.items()}, "ratio": ratio(named, *PAIR)}


def _kept(folder: str, name: str) -> Iterator[np.ndarray]:
    with np.load(Path(folder) / f"{name}.npz") as arrays:
        yield from (arrays[key] for key in arrays.files)


# ---- in the process ----


def main(argv: Sequence[str]) -> None:
    from bench.against.libraries import LIBRARIES
    from bench.against.programs import PROGRAMS
    from bench.against.steady import calls_of

    name, program, folder = argv
    m, p = LIBRARIES[name](), next(p for p in PROGRAMS if p.name == program)
    try:
        f, xs = m.jit(p.of(m)), [m.array(a) for a in p.arrays()]
        out = m.done(f(*xs))
    except AttributeError:  # it has no such operation
        print(0, flush=True)
        return
    np.savez(Path(folder) / name, *(x.numpy() for x in results(out)))
    calls = calls_of(lambda: m.done(f(*xs)))
    print(calls, flush=True)
    gc.collect()
    gc.disable()
    for _line in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(calls):
            m.done(f(*xs))
        wall = time.perf_counter() - wall
        time.sleep(REST)
        print(json.dumps({"wall": wall, "cpu": time.process_time() - cpu}), flush=True)
    gc.enable()


def shown(rows: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """The lines of its table."""
    for name, row in rows.items():
        if row is not None:
            yield name, *(x for cores in CORES for x in (*(1e3 * row[cores][n] for n in PAIR), row[cores]["ratio"]))
    there = [row for row in rows.values() if row is not None]
    middles = [median(row[cores]["ratio"] for row in there) for cores in CORES]
    yield f"median of {len(there)}", None, None, middles[0], None, None, middles[1]


if __name__ == "__main__":
    main(sys.argv[1:])
