"""Run programs under several conditions, in one process per condition, and compare their outcomes."""

from __future__ import annotations

import difflib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.plain.process import THREADS
from tests.plain.programs import program

ROOT = Path(__file__).parents[2]
CONDITIONS = {
    "again": "plain once more, which shows programs that differ by themselves",
    "imported": "after `import branded`",
    "used": "after `import branded` and a vmap, a grad and a jit, with more of them between the programs",
    "beside": "the same, and a thread that is in the body of a vmap or in a realize most of the time",
    "racing": "a thread that also compiles kernels, which tinygrad itself does not support",
    "racing plain": "no import, and a thread of plain tinygrad, which shows how much of `racing` is tinygrad's own",
}
"""The conditions that are compared with a plain process."""
DEFAULT = ("again", "imported", "used", "beside")
"""The conditions that must not change any outcome."""
LIMIT = 120.0
"""A program that takes more seconds is killed."""
Outcomes = dict[int, dict[str, Any]]


def clang(folder: Path) -> Path:
    """Write a program named clang that runs clang of the PyPI package `ziglang`, and return its folder."""
    import ziglang  # type: ignore[import-untyped]

    assert ziglang.__file__ is not None
    script = folder / "bin" / "clang"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {str(Path(ziglang.__file__).parent / "zig")!r} clang "$@"\n')
    script.chmod(0o755)
    return script.parent


def environment(folder: Path, is_with_clang: bool = True) -> dict[str, str]:
    """Return the same environment for all conditions, with caches in this folder; without clang PATH is unset."""
    kept = {k: v for k, v in os.environ.items() if k not in ("CC", "DEV") and not k.startswith(("BRANDED", "PYTEST"))}
    path = kept.pop("PATH", os.defpath)
    kept |= {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "DEV": "CPU", "PARALLEL": "0"}
    kept |= {"CACHEDB": str(folder / "cache.db"), "XDG_CACHE_HOME": str(folder)}
    return kept | {"PATH": os.pathsep.join((str(clang(folder)), path))} if is_with_clang else kept


def command(condition: str, seed: int, numbers: Iterable[int]) -> list[str]:
    return [sys.executable, "-m", "tests.plain.process", condition, str(seed), *map(str, numbers)]


def collect(condition: str, numbers: Sequence[int], seed: int, folder: Path) -> tuple[Outcomes, list[str]]:
    """Return the outcomes of programs under a condition, and the exceptions of its thread.

    If a process ends too early, its end is the outcome of the current program; another process runs the later programs.
    """
    done, raised, left = Outcomes(), list[str](), list(numbers)
    while left:
        words, env, pipe = command(condition, seed, left), environment(folder), subprocess.PIPE
        process = subprocess.Popen(words, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True)
        lines, errors, is_late = _read(process)
        for line in lines:
            if "number" in line:
                done[line["number"]] = line
            else:
                raised += line["thread"]
        left = [n for n in left if n not in done]
        if left:
            done[left[0]] = {"number": left[0], "error": _ended(process.returncode, errors, is_late), "sources": []}
            left = left[1:]
    return done, raised


def _read(process: subprocess.Popen[str]) -> tuple[list[dict[str, Any]], str, bool]:
    """Read lines of JSON until the process ends; end it if a line takes longer than the limit."""
    assert process.stdout is not None and process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))  # type: ignore[union-attr]
    reader.start()
    lines, is_late = [], threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    while True:
        timer = threading.Timer(LIMIT, end)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            break
        lines.append(json.loads(line))
    process.wait()
    reader.join()
    process.stdout.close()
    process.stderr.close()
    return lines, errors[0], is_late.is_set()


def _ended(code: int, errors: str, is_late: bool) -> str:
    if is_late:
        return f"no result after {LIMIT:.0f} seconds"
    if code < 0:
        return f"the process ended by {signal.Signals(-code).name}"
    return f"the process ended with {code}: {errors.strip().splitlines()[-1:]}"


class Difference(NamedTuple):
    """A difference in the outcome of a program under a condition."""

    number: int
    condition: str
    field: str
    plain: Any
    other: Any

    def __str__(self) -> str:
        if self.field == "sources":
            return f"{self.condition}: kernels: {len(self.plain)} plain, {len(self.other)} others"
        return f"{self.condition}: {self.field}: {_short(self.plain)}, and not {_short(self.other)}"

    def diff(self) -> str:
        """Return a diff of the sources of the kernels."""
        a, b = ("\n".join(x).splitlines() for x in (self.plain, self.other))
        return "\n".join(difflib.unified_diff(a, b, "plain", self.condition, lineterm="", n=2))


def _short(x: Any) -> str:
    text = x if isinstance(x, str) else json.dumps(x)
    return text if len(text) < 300 else f"{text[:300]}…"


def differences(condition: str, plain: Outcomes, other: Outcomes) -> list[Difference]:
    """Compare outcomes. A second thread compiles kernels too; with one, only kernels of the plain run must be found."""
    found, is_beside = [], condition in THREADS
    for number, got in other.items():
        wanted = plain[number]
        for field in ("result", "error", *(() if is_beside else ("warnings", "output", "kernels run"))):
            if wanted.get(field) != got.get(field):
                found.append(Difference(number, condition, field, wanted.get(field), got.get(field)))
        a, b = Counter[str](wanted["sources"]), Counter[str](got["sources"])
        if a - b or (b - a and not is_beside):
            more = Counter[str]() if is_beside else b - a
            found.append(Difference(number, condition, "sources", sorted(a - b), sorted(more)))
    return found


class Report(NamedTuple):
    """The outcomes of plain runs, the differences from them, and the exceptions of threads."""

    outcomes: Outcomes
    differences: list[Difference]
    raised: list[str]


def programs(numbers: Sequence[int], seed: int, conditions: Sequence[str], folder: Path, jobs: int = 2) -> Report:
    """Run programs plain, then under the conditions, with this number of processes at the same time.

    Programs that search for kernels run once in advance, since the search measures time: tinygrad stores its results,
    and all conditions use them. They cannot run together with a thread: options belong to the process, so the thread
    would search too, and tinygrad searches only in the main thread.
    """
    searches = [n for n in numbers if "BEAM" in program(n, seed).text]
    collect("plain", searches, seed, folder)
    plain, _ = collect("plain", numbers, seed, folder)

    def run(condition: str) -> tuple[Outcomes, list[str]]:
        chosen = [n for n in numbers if condition not in THREADS or n not in searches]
        return collect("plain" if condition == "again" else condition, chosen, seed, folder)

    with ThreadPoolExecutor(jobs) as pool:
        others = dict(zip(conditions, pool.map(run, conditions), strict=True))
    found = [d for c, (outcomes, _) in others.items() for d in differences(c, plain, outcomes)]
    return Report(plain, found, [e for _, raised in others.values() for e in raised])


def by_program(found: Iterable[Difference], seed: int) -> Mapping[str, list[Difference]]:
    """Return the differences by the text of the program."""
    texts: dict[str, list[Difference]] = {}
    for d in sorted(found, key=lambda d: d.number):
        p = program(d.number, seed)
        texts.setdefault(f"{p.number} ({p.kind})\n  " + p.text.replace("\n", "\n  "), []).append(d)
    return texts


class Changes(NamedTuple):
    """Changes by an import that affect no result."""

    names: dict[str, list[str]]
    """Names of tinygrad and of other modules, by module or class."""
    late: dict[str, list[str]]
    """Names that only change on use."""
    facts: list[str]
    """Facts about the process: `moment: fact: plain, and not other`."""


def state(folder: Path) -> Changes:
    """Return the changes by the import and by a first use, which a plain process does not make."""
    runs = [[], ["used"]], [["branded"], ["branded", "used"]]
    with ThreadPoolExecutor(2) as pool:
        sides = pool.map(lambda words: [_observed(w, folder) for w in words], runs)
    (bare, plain), (bare_ours, ours) = sides
    moments = [("at import, without clang and PATH", bare["at import"], bare_ours["at import"])]
    moments += [(moment, plain[moment], ours[moment]) for moment in ("at import", "in use")]
    facts = [
        f"{moment}: {key}: {_parts(a.get(key), b.get(key))}"
        for moment, a, b in moments
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]
    names = _changed(ours["names at import"], plain["names at import"])
    return Changes(names, _changed(ours["names in use"], plain["names in use"] + ours["names at import"]), facts)


def _changed(names: list[list[Any]], without: list[list[Any]]) -> dict[str, list[str]]:
    """Return names by place, without those that also change without the import."""
    places: dict[str, list[str]] = {}
    known = {(module, name) for _, (module, name) in without}
    for kind, (module, name) in sorted(names):
        if (module, name) not in known:
            place, _, last = f"{module}.{name}".rpartition(".")
            places.setdefault(place, []).append(last if kind == "replaced" else f"{last} ({kind})")
    return dict(sorted(places.items()))


def _observed(words: list[str], folder: Path) -> dict[str, Any]:
    """Run `tests.plain.state`; clang is available only if programs run."""
    words, env = [sys.executable, "-m", "tests.plain.state", *words], environment(folder, "used" in words)
    done = subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _parts(a: str | None, b: str | None) -> str:
    """Return two texts, or only the words that are in one of them if they are long."""
    if a is None or b is None or max(len(a), len(b)) < 100:
        return f"{a}, and not {b}"
    x, y = (Counter(t.split(", ")) for t in (a, b))
    return f"without {', '.join(x - y) or 'nothing'}, with {', '.join(y - x) or 'nothing'}"
