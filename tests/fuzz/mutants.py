"""Mutation testing: change the package at one place, and run the tests: `make mutants ARGS="--sample 200"`.

Each mutant is a copy of the package with one changed expression or statement.  The tests that reach its function run
against it, fastest first, in a fork of a process that has imported tinygrad but not branded.  A map from tests to
functions is recorded once, and updated for changed test files.  tests/fuzz/mutants_equal.toml lists mutants that are
equivalent to the original, with the reason.  The exit code is 1 if any other mutant survives.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz import mutants_types
from tests.fuzz.mutants_types import is_of_plugin
from tests.fuzz.mutations import Key, Mutant, mutants, mutated, name_of
from tests.support import noting

ROOT = Path(__file__).resolve().parents[2]
EQUAL = Path(__file__).with_name("mutants_equal.toml")
BUILD = ROOT / "build" / "mutants"
VERDICTS = BUILD / "verdicts.json"
SHOWN = ("branded/learn/demo", "branded/learn/explorer/examples")
"""Demonstrations: no test checks their numbers."""
SLOW = (
    "brandbugs cc checkers command conformance course demo docs edit examples gallery golden interrupts jaxfuzz killed"
    " laws leaks lines methods models mutants packages page random_keys reference running site static threads"
    " transform_laws types types_law workers"
)
"""Test files that are slow, or check the package from another process: they do not run against mutants."""
BUDGET, OF_TYPES, OF_FILE = 8.0, 60.0, 30.0
"""Limits in measured seconds: of tests for each mutant; of programs for a mutant of the plugin; of tests per file."""
CPU, LIMIT = 20.0, 400.0
"""Seconds for a mutant: CPU time above three times the measured time, and total wall-clock time."""
FAILED = 1
LARGER = 200
"""A file with this many mutants counts as large."""


def files() -> dict[str, str]:
    """Return the text of each file to mutate."""
    found = {str(p.relative_to(ROOT)): p for p in sorted((ROOT / "branded").rglob("*.py"))}
    return {name: p.read_text() for name, p in found.items() if not name.startswith(SHOWN)}


def equal() -> dict[Key, str]:
    """Return the mutants that are equivalent to the original, with the reason."""
    return {(e["file"], e["function"], e["was"], e["now"]): e["why"] for e in tomllib.loads(EQUAL.read_text())["equal"]}


def sample(all_of: dict[str, list[Mutant]], n: int, seed: int) -> list[Mutant]:
    """Choose about `n` mutants, in proportion to the mutants of each file: at least one, or two of a large file."""
    total = sum(map(len, all_of.values()))
    chosen = []
    for file, ms in all_of.items():
        k = min(len(ms), max(2 if len(ms) >= LARGER else 1, round(n * len(ms) / total)))
        chosen += random.Random(f"{seed} {file}").sample(ms, len(ms))[:k]  # a larger sample contains the smaller one
    return chosen


# ---- running tests in a fork ----


class Copy:
    """A copy of the checkout, in which one file at a time is mutated."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log = folder / "copy", folder / "log"
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.path / name)  # keeps the mode: one of the files is an executable compiler
        compileall.compile_dir(self.path / "branded", quiet=2)

    def write(self, file: str, text: str) -> None:
        path = self.path / file
        path.write_text(text)
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            old.unlink()  # Python would reuse the bytecode of a file with equal size and time

    def run(self, work: Callable[[], int], before: Callable[[], None] | None = None, limit: float = math.inf) -> Any:
        """Run `work` in the copy, and return its exit status, or None after a timeout; `before` runs before imports."""
        pid = os.fork()
        if not pid:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
            os.chdir(self.path)
            sys.path[:] = [str(self.path), *(p for p in sys.path if p and Path(p) not in (ROOT, ROOT / "stubs"))]
            os.environ |= {"PYTHONPATH": f"{self.path}:{self.path / 'stubs'}", "PYTHONDONTWRITEBYTECODE": "1"}
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os._exit(_child(work, before))
        end = time.monotonic() + limit
        while not (done := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.02)
        return os.waitstatus_to_exitcode(done[1])


def _child(work: Callable[[], int], before: Callable[[], None] | None) -> int:
    try:
        if before is not None:
            before()
        for name in [m for m in sys.modules if m == "tests" or m.startswith("tests.")]:
            del sys.modules[name]
        import branded
        import branded.mypy  # noqa: F401

        return work()
    except BaseException as e:
        traceback.print_exc()
        print("not imported:" if isinstance(e, ImportError) else "failed:", repr(e), flush=True)
        return FAILED


def _pytest(tests: Sequence[str], plugin: Any = None) -> int:
    import pytest

    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", "--hypothesis-seed=0", *tests]
    return int(pytest.main(words if plugin else ["-x", *words], plugins=[plugin] if plugin else []))


def _seconds() -> float:
    """Return the CPU time of this process and its children."""
    return sum(os.times()[:4])


class Reach:
    """A pytest plugin that records the functions and the time of each test."""

    def __init__(self, out: Path, called: set[str]) -> None:
        self.out, self.called = out, called
        self.found: dict[str, list[Any]] = {}
        self.took = Counter[str]()

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        from _pytest.runner import runtestprotocol

        # group docstring examples by file, since their line numbers change
        file = item.nodeid.split("::")[0]
        name = item.nodeid if file.startswith("tests") else file
        if self.took[file] < OF_FILE:
            self.called.clear()
            start = _seconds()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            took = _seconds() - start
            self.took[file] += took
            if all(r.passed for r in reports):
                old = self.found.get(name, [0.0, []])
                self.found[name] = [old[0] + took, sorted({*old[1], *self.called})]
        if nextitem is None or nextitem.nodeid.split("::")[0] != file:
            print(f"{file}: {self.took[file]:.1f} s", flush=True)
            self.out.write_text(json.dumps([self.found, [*self.took]]))
        return True


def reached(copy: Copy, wanted: list[str]) -> dict[str, list[Any]]:
    """Return for each test its seconds and the functions that it calls."""
    stored, out = BUILD / "reach.json", BUILD / "reached.json"
    known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    marks = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in wanted}
    if new := [name for name in wanted if known.get(name, {}).get("mark") != marks[name]]:
        print(f"which functions do {len(new)} files of tests reach?", flush=True)
        called: set[str] = set()
        before = partial(noting.install, noting.compiled(copy.path), called)
        out.unlink(missing_ok=True)
        copy.run(partial(_pytest, new, Reach(out, called)), before)
        if not out.exists():
            raise SystemExit(f"the tests do not run without a mutant:\n{copy.log.read_text()}")
        found, done = json.loads(out.read_text())
        for name in done:
            own = {test: x for test, x in found.items() if test.split("::")[0] == name}
            known[name] = {"mark": marks[name], "tests": own}
        stored.write_text(json.dumps(known))
    return {test: x for name in wanted for test, x in known.get(name, {"tests": {}})["tests"].items()}


def reached_by_types(copy: Copy) -> dict[str, Any]:
    """Return for each file of typed programs its seconds, the plugin functions that it calls, and mypy's output."""
    stored, out = BUILD / "types.json", BUILD / "reached.json"
    known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    shutil.rmtree(BUILD / "mypy", ignore_errors=True)  # mypy treats another copy as another package
    failed = copy.run(partial(mutants_types.fill, BUILD / "mypy"))
    for name in mutants_types.programs(ROOT):
        mark = mutants_types.mark(ROOT, name)
        if known.get(name, {}).get("mark") != mark:
            print(f"which functions of the plugin does tests/types/{name} reach?", flush=True)
            if failed or copy.run(partial(mutants_types.note, name, BUILD / "mypy", out)):
                raise SystemExit(f"{name} is not as its comments say without a mutant:\n{copy.log.read_text()}")
            known[name] = json.loads(out.read_text()) | {"mark": mark}
            stored.write_text(json.dumps(known))
    return known


def chosen(m: Mutant, tests: dict[str, list[Any]], kills: Counter[str]) -> tuple[list[str], float]:
    """Return the fastest tests that reach the mutant, and their seconds; tests that killed other mutants come first."""
    there = {t: x for t, x in tests.items() if f"{m.file} {m.function}" in x[1]} if m.function else {}
    if not there:
        there = {t: x for t, x in tests.items() if any(f.startswith(m.file + " ") for f in x[1])}
    names, total = [], 0.0
    for t, (took, _) in sorted(there.items(), key=lambda item: (-kills[item[0]], item[1][0], item[0])):
        if names and total + took > (OF_TYPES if is_of_plugin(m.file) else BUDGET):
            break
        names.append(t)
        total += took
    return names, total


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants ARGS=", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many mutants in all (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="", help="only files whose names have this in them, or one of a|b")
    parser.add_argument("--again", action="store_true", help="those that survived the last time, and no others")
    parser.add_argument("--resume", action="store_true", help="go on where the last run was broken off")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    import mypy.api  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import sybil  # noqa: F401
    import tinygrad  # noqa: F401

    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return _run(Copy(Path(folder)), args)


def _run(copy: Copy, args: argparse.Namespace) -> int:
    sources = files()
    all_of = {f: mutants(f, text) for f, text in sources.items()}
    before = _verdicts() if args.again or args.resume else {}
    if args.again:
        ms = [m for ms in all_of.values() for m in ms if before.get(m.key) == "survived"]
        before = {}
    else:
        ms = [m for m in sample(all_of, args.sample, args.seed) if re.search(args.files, m.file)]
        random.Random(args.seed).shuffle(ms)  # an aborted run has covered all folders
    tests, programs, types = _tests_for(copy, [m for m in ms if m.key not in before])
    known, kills = equal(), Counter[str]()
    verdicts = dict(before)
    for m in ms:
        if m.key in known:
            verdicts[m.key] = "equal"
        if m.key in verdicts:
            continue
        names, seconds = chosen(m, programs if is_of_plugin(m.file) else tests, kills)
        check = partial(mutants_types.check, names, BUILD / "mypy", types)
        start = time.monotonic()
        copy.write(m.file, mutated(m, sources[m.file]))
        work = _with_limit(seconds, check if is_of_plugin(m.file) else partial(_pytest, names))
        status = copy.run(work, limit=LIMIT) if names else 0
        copy.write(m.file, sources[m.file])
        verdicts[m.key] = "survived" if status == 0 else "timed out" if status in (None, -signal.SIGXCPU) else "killed"
        if status:  # for the plugin, the last name in the log is the test that failed
            kills.update([name for name in copy.log.read_text().splitlines() if name in names][-1:])
        print(f"{verdicts[m.key]:9} {time.monotonic() - start:5.1f} s {m.file}:{m.line} {m.function}", flush=True)
        if status == 0:
            print(f"    was: {m.was}\n    now: {m.now}", flush=True)
        VERDICTS.write_text(json.dumps([[*key, v] for key, v in verdicts.items()]))
    VERDICTS.write_text(json.dumps([[*key, v] for key, v in verdicts.items()]))
    print(table(Counter((key[0], v) for key, v in verdicts.items())))
    return FAILED if "survived" in verdicts.values() else 0


def _verdicts() -> dict[Key, str]:
    """Return the verdicts of the last run."""
    return (
        {(f, of, was, now): v for f, of, was, now, v in json.loads(VERDICTS.read_text())} if VERDICTS.exists() else {}
    )


def _tests_for(copy: Copy, ms: list[Mutant]) -> tuple[dict[str, list[Any]], dict[str, list[Any]], dict[str, Any]]:
    """Return the tests and the typed programs for these mutants, and mypy's output for each program."""
    slow = {f"test_{name}.py" for name in SLOW.split()}
    there = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests").glob("**/test_*.py")) if p.name not in slow]
    wanted = [*there, *(f for f, text in files().items() if ">>>" in text and not is_of_plugin(f))]
    tests = reached(copy, wanted) if any(not is_of_plugin(m.file) for m in ms) else {}
    types = reached_by_types(copy) if any(is_of_plugin(m.file) for m in ms) else {}
    programs = {name: [x["seconds"], [f"{f} {name_of(of)}" for f, of in x["called"]]] for name, x in types.items()}
    return tests, programs, types


def _with_limit(seconds: float, work: Callable[[], int]) -> Callable[[], int]:
    """Return `work` with a limit of CPU time for mutants that do not terminate."""
    limit = int(3 * seconds + CPU)

    def limited() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        return work()

    return limited


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return a table of the mutants of each file: total, killed, equal."""
    rows = ["| file | mutants | killed | equal | killed of the others |", "|---|---|---|---|---|"]

    def row(name: str, of: Callable[[str], int]) -> str:
        killed, same = of("killed") + of("timed out"), of("equal")
        n = killed + same + of("survived")
        share = f"{100 * killed / (n - same):.1f} %" if n > same else ""
        return f"| {name} | {n} | {killed} | {same} | {share} |"

    for file in sorted({f for f, _ in counts}):
        rows.append(row(f"`{file}`", lambda verdict, file=file: counts[file, verdict]))  # type: ignore[misc]
    rows.append(row("all", lambda verdict: sum(n for (_, v), n in counts.items() if v == verdict)))
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
