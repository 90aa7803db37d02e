"""`python -m bench.against.first LIBRARY PROGRAM`: print the time to the first result of a process, as JSON.

The time runs from the arguments, which exist already, to the result: tracing, scheduling, compiling, and one run.
`cpu` is processor time and includes the C compiler and all other child processes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def used() -> float:
    """The processor's time of this process, and of those that it started."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(_used_by, _children()))


def _children() -> list[int]:
    try:
        files = list(Path("/proc/self/task").glob("*/children"))
        return [int(pid) for f in files for pid in f.read_text().split()]
    except OSError:
        return []


def _used_by(pid: int) -> float:
    """Return the time of a process and of its ended children; a tick of `stat` is longer than a kernel takes."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ran = [int(f.read_text().split()[0]) / 1e9 for f in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:
        return 0.0
    return (sum(ran) if ran else sum(map(int, fields[11:13])) / TICKS) + sum(map(int, fields[13:15])) / TICKS


def _most_memory() -> float:
    """Return the peak memory of this process in bytes. The count starts with the parent's memory."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
    return float(line.split()[1]) * 1024


def measured(library: str, name: str, cache: Path) -> dict[str, float]:
    """In this process."""
    from bench.against.applications import APPLICATIONS
    from bench.against.fields import FIELDS
    from bench.against.kinds import KINDS
    from bench.against.libraries import LIBRARIES
    from bench.against.programs import PROGRAMS

    m = LIBRARIES[library](cache)
    imported = used()
    program = next(p for p in (*PROGRAMS, *APPLICATIONS, *KINDS, *FIELDS) if p.name == name)
    xs = [m.array(a) for a in program.arrays()]
    f = m.jit(program.of(m))
    cpu, wall = used(), time.perf_counter()
    m.done(f(*xs))
    found = {"wall": time.perf_counter() - wall, "cpu": used() - cpu, "import": imported}
    return found | {"peak": _most_memory()}


def first(library: str, name: str) -> dict[str, Any]:
    """Measure two processes: one with an empty cache, and one with the cache that the first has filled."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "CACHEDB": f"{folder}/tinygrad.db"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # compile the modules to bytecode, as for an installed package
        command = [sys.executable, "-m", "bench.against.first", library, name, f"{folder}/kept"]
        runs = [subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True) for _ in range(2)]
    if bad := next((r for r in runs if r.returncode), None):
        raise RuntimeError(f"{' '.join(command)}:\n{bad.stderr}")
    return dict(zip(("cold", "warm"), (json.loads(r.stdout.splitlines()[-1]) for r in runs), strict=True))


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
