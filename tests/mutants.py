"""Small faults put into the package, one at a time: do the tests see them?  `make mutants ARGS="--sample 200"`.

Each mutant is the package with one expression or statement changed, in a copy of the checkout.  It is run against the
tests that reach its function, the quickest first, in a fork of a process that has imported tinygrad but not branded.
Which tests reach which function is found out once, and again for a file of tests that has changed.  A mutant that no
test can tell from the original stands in tests/mutants_equal.toml, with the reason.  The program fails when another
one survives.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import json
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

from tests import mutants_types
from tests.mutants_types import is_of_plugin
from tests.mutations import Key, Mutant, mutants, mutated, name_of

ROOT = Path(__file__).resolve().parent.parent
EQUAL = ROOT / "tests" / "mutants_equal.toml"
BUILD = ROOT / "build" / "mutants"
SOURCES = (
    *(
        "graph.py",
        "scope.py",
        "rows.py",
        "primitive.py",
        "dispatch.py",
        "crossing.py",
        "brand.py",
        "vmap.py",
    ),
    *("tree", "rules", "derivatives", "loops", "runner", "transforms", "mypy"),
    *(f"patches/{name}.py" for name in ("reads", "writes", "shapes", "gradient", "function", "operands", "rand")),
    *(f"patches/{name}.py" for name in ("matching", "nan", "unfinished", "written")),
)
SLOW = (
    "brandbugs cc checkers cli command conformance course demo docs edit examples explain gallery golden interrupts"
    " jaxfuzz killed laws leaks methods models mutants page pictures puzzles random_keys reference site static threads"
    " transform_laws types types_law workers"
)
"""Files of tests that take long, or look at the package from another process: no mutant is run against them."""
BUDGET, OF_TYPES, LIMIT = 8.0, 60.0, 60.0
"""Seconds of tests for each mutant, as they were measured, and of programs for one of the plugin; and how long they may
take beyond five times that."""
FAILED, NONE_THERE = 1, 5


def files() -> dict[str, str]:
    """The files that are mutated, with their text."""
    paths = [
        p
        for s in SOURCES
        for p in ([ROOT / "branded" / s] if s.endswith(".py") else (ROOT / "branded" / s).glob("*.py"))
    ]
    return {str(p.relative_to(ROOT)): p.read_text() for p in sorted(paths) if p.name != "__init__.py"}


def equal() -> dict[Key, str]:
    """The mutants that are known to do what the original does, and why."""
    return {(e["file"], e["function"], e["was"], e["now"]): e["why"] for e in tomllib.loads(EQUAL.read_text())["equal"]}


def sample(all_of: dict[str, list[Mutant]], n: int, seed: int) -> list[Mutant]:
    """So many mutants, of each file in proportion to how many it has, and at least three."""
    total = sum(map(len, all_of.values()))
    chosen = []
    for file, ms in all_of.items():
        k = min(len(ms), max(3, round(n * len(ms) / total)))
        chosen += random.Random(f"{seed} {file}").sample(ms, len(ms))[:k]  # a larger sample has the smaller one in it
    return chosen


# ---- running tests in a fork ----


class Copy:
    """A copy of the checkout, in which one file at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log = folder / "copy", folder / "log"
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.path / name)  # with its mode: one of them is a compiler
        compileall.compile_dir(self.path / "branded", quiet=2)

    def write(self, file: str, text: str) -> None:
        path = self.path / file
        path.write_text(text)
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            old.unlink()  # a file of the same size and second would be taken for the one that is compiled

    def run(self, work: Callable[[], int], limit: float | None) -> int | None:
        """The exit status of what runs in the copy, or None where it took too long."""
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
            os._exit(_child(work))
        end = None if limit is None else time.monotonic() + limit
        while not (done := os.waitpid(pid, os.WNOHANG))[0]:
            if end is not None and time.monotonic() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.02)
        return os.waitstatus_to_exitcode(done[1])


def _child(work: Callable[[], int]) -> int:
    try:
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


class Reach:
    """A plugin of pytest that notes which functions a test calls, and how long it takes."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.found: dict[str, list[Any]] = {}

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        from _pytest.runner import runtestprotocol

        codes: set[Any] = set()
        add = codes.add

        def trace(frame: Any, event: str, arg: Any) -> None:
            add(frame.f_code)

        start = time.process_time()
        sys.settrace(trace)
        try:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        finally:
            sys.settrace(None)
        took = time.process_time() - start
        if all(r.passed for r in reports):
            here = f"{Path.cwd()}/"
            called = {
                f"{c.co_filename.removeprefix(here)} {name_of(c.co_qualname)}"
                for c in codes
                if c.co_filename.startswith(here + "branded")
            }
            # an example in a docstring is named by its line, which another mutant moves
            name = item.nodeid if item.nodeid.startswith("tests") else item.nodeid.split("::")[0]
            old = self.found.get(name, [0.0, []])
            self.found[name] = [old[0] + took, sorted({*old[1], *called})]
        return True

    def pytest_sessionfinish(self) -> None:
        self.out.write_text(json.dumps(self.found))


def reached(copy: Copy, wanted: list[str]) -> dict[str, list[Any]]:
    """Of each test, its seconds and the functions that it calls."""
    stored = BUILD / "reach.json"
    known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    tests: dict[str, list[Any]] = {}
    for name in wanted:
        mark = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        if known.get(name, {}).get("mark") != mark:
            print(f"which functions does {name} reach?", flush=True)
            out = BUILD / "reached.json"
            out.unlink(missing_ok=True)
            status = copy.run(partial(_pytest, [name], Reach(out)), None)
            if status not in (0, FAILED, NONE_THERE):
                raise SystemExit(f"{name} does not run without a mutant:\n{copy.log.read_text()}")
            known[name] = {"mark": mark, "tests": json.loads(out.read_text())}
            if status:
                print(f"  pytest gave {status}, {len(known[name]['tests'])} tests pass", flush=True)
            stored.write_text(json.dumps(known))
        tests |= known[name]["tests"]
    return tests


def reached_by_types(copy: Copy) -> dict[str, Any]:
    """Of each file of programs for mypy: its seconds, the functions of the plugin that it calls, what mypy says."""
    stored, out = BUILD / "types.json", BUILD / "reached.json"
    known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    shutil.rmtree(BUILD / "mypy", ignore_errors=True)  # another copy is another package to mypy
    failed = copy.run(partial(mutants_types.fill, BUILD / "mypy"), None)
    for name in mutants_types.programs(ROOT):
        mark = mutants_types.mark(ROOT, name)
        if known.get(name, {}).get("mark") != mark:
            print(f"which functions of the plugin does tests/types/{name} reach?", flush=True)
            if failed or copy.run(partial(mutants_types.note, name, BUILD / "mypy", out), None):
                raise SystemExit(f"{name} is not as its comments say without a mutant:\n{copy.log.read_text()}")
            known[name] = json.loads(out.read_text()) | {"mark": mark}
            stored.write_text(json.dumps(known))
    return known


def chosen(m: Mutant, tests: dict[str, list[Any]], kills: Counter[str]) -> tuple[list[str], float]:
    """The quickest tests that reach the mutant, and their seconds; first those that have killed others."""
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
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    import mypy.api  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import tinygrad  # noqa: F401

    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return _run(Copy(Path(folder)), args)


def _run(copy: Copy, args: argparse.Namespace) -> int:
    slow = {f"test_{name}.py" for name in SLOW.split()}
    survivors = BUILD / "survivors.json"
    sources = files()
    all_of = {f: mutants(f, text) for f, text in sources.items()}
    if args.again:
        keys = {tuple(k) for k in json.loads(survivors.read_text())}
        ms = [m for ms in all_of.values() for m in ms if m.key in keys]
    else:
        ms = [m for m in sample(all_of, args.sample, args.seed) if re.search(args.files, m.file)]
    there = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests").glob("**/test_*.py")) if p.name not in slow]
    wanted = [f for f in (*there, *sources) if not is_of_plugin(f)]
    tests = reached(copy, wanted) if any(not is_of_plugin(m.file) for m in ms) else {}
    types = reached_by_types(copy) if any(is_of_plugin(m.file) for m in ms) else {}
    programs = {name: [x["seconds"], [f"{f} {name_of(of)}" for f, of in x["called"]]] for name, x in types.items()}
    known, counts, alive, kills = equal(), Counter[tuple[str, str]](), list[Mutant](), Counter[str]()
    for m in ms:
        if m.key in known:
            counts[m.file, "equal"] += 1
            continue
        names, seconds = chosen(m, programs if is_of_plugin(m.file) else tests, kills)
        work = partial(mutants_types.check, names, BUILD / "mypy", types)
        copy.write(m.file, mutated(m, sources[m.file]))
        start = time.monotonic()
        status = (
            copy.run(work if is_of_plugin(m.file) else partial(_pytest, names), 5 * seconds + LIMIT) if names else 0
        )
        copy.write(m.file, sources[m.file])
        verdict = "survived" if status == 0 else "timed out" if status in (None, -signal.SIGXCPU) else "killed"
        counts[m.file, verdict] += 1
        if status:  # of the plugin, the last name in the log is that of the killer
            kills.update([name for name in copy.log.read_text().splitlines() if name in names][-1:])
        print(f"{verdict:9} {time.monotonic() - start:5.1f} s {m.file}:{m.line} {m.function}", flush=True)
        if status == 0:
            alive.append(m)
            print(f"    was: {m.was}\n    now: {m.now}", flush=True)
            survivors.write_text(json.dumps([m.key for m in alive]))
    survivors.write_text(json.dumps([m.key for m in alive]))
    print(table(counts))
    return FAILED if alive else 0


def table(counts: Counter[tuple[str, str]]) -> str:
    """Per file: how many were run, killed, are equal."""
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
