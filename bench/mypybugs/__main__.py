"""Count the mistakes that mypy finds in programs of many styles: `python -m bench.mypybugs [--run | --missed]`.

`programs` has programs with dataclasses, NamedTuples, TypedDicts, Protocols, generic classes in the syntax of Python
3.12 too, modules, optimizers, random keys, loops, custom rules, decorators, cells of a notebook, overloads, match
statements, iterators, and several files.
Each comment `# kind: code` in them is a mistake: the code replaces the code of its line. mypy with the plugin and
`--strict` checks the program and each of its mistakes. A mistake is found by an error that the correct program does
not have, and it is *silent* if there is none and the program raises an error when it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.warm import MYPY, STRICT

from bench.brandbugs.__main__ import aligned
from bench.mapbugs.__main__ import RUN, Mutant, mistakes, mutants, run

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "programs"
HELPERS = [FOLDER / "shop_models.py", FOLDER / "shop_tables.py"]
PROGRAMS = sorted({*FOLDER.glob("*.py")} - {*HELPERS})
NEWER = "pep695"
"""The start of the names of programs that need Python 3.12."""
KINDS = {
    "read": "read of a value",
    "if": "truth of a value",
    "brand": "wrong brand",
    "name": "wrong axis name",
    "key": "wrong key or field",
    "none": "forgotten None",
    "zip": "zip for outer",
    "axis": "axis or shape",
    "out": "out_axes",
    "escape": "escape",
}
ALARMS: dict[str, str] = {}
"""False alarms that are known, by program."""


def everything() -> list[Mutant]:
    """All programs, each without a mistake and with each of them."""
    return [m for path in PROGRAMS for m in mutants(path, mistakes(KINDS))]


def readable(programs: Sequence[Mutant]) -> list[Mutant]:
    """Return the programs in the syntax of this Python; the newest mypy reads the others too."""
    return [m for m in programs if sys.version_info >= (3, 12) or not m.program.startswith(NEWER)]


def check(programs: Sequence[Mutant], mypy: Sequence[str] = MYPY, cache: Path | None = None) -> dict[str, set[str]]:
    """Return mypy's errors for each program."""
    errors: dict[str, set[str]] = {m.name: set() for m in programs}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "mypy.ini").write_text(STRICT)
        for helper in HELPERS:
            (root / helper.name).write_text(helper.read_text())
        for m in programs:
            (root / f"{m.name}.py").write_text(m.text)
        command = [*mypy, "--output=json", "--no-error-summary", "--cache-dir", str(cache or root / "cache"), "."]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=env)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    for row in map(json.loads, done.stdout.splitlines()):
        if row["severity"] == "error":
            errors.setdefault(Path(row["file"]).stem, set()).add(f"{row['line']}: {row['message']}")
    return errors


class Results(NamedTuple):
    """The mistakes that mypy finds."""

    found: list[Mutant]
    missed: list[Mutant]
    alarms: dict[str, set[str]]  # the errors in programs without a mistake


def results(programs: Sequence[Mutant], errors: dict[str, set[str]]) -> Results:
    """Compare the errors of each mistake with those of the correct program."""
    right = {m.program: errors[m.name] for m in programs if m.kind is None}
    wrong = [m for m in programs if m.kind is not None]
    found = [m for m in wrong if errors[m.name] - right[m.program]]
    return Results(found, [m for m in wrong if m not in found], {name: e for name, e in right.items() if e})


def raises(programs: Sequence[Mutant]) -> list[Mutant]:
    """Return the programs that raise an error when they run."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(FOLDER)])}
    text = json.dumps([m.text for m in programs])
    done = subprocess.run([sys.executable, "-c", RUN], input=text, capture_output=True, text=True, check=True, env=env)
    outcomes = [isinstance(json.loads(line), str) for line in done.stdout.splitlines()]
    return [m for m, is_raised in zip(programs, outcomes, strict=True) if is_raised]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; not 0 with a false alarm that is not known."""
    parser = argparse.ArgumentParser(prog="python -m bench.mypybugs")
    parser.add_argument("--run", action="store_true", help="run the programs and the mistakes")
    parser.add_argument("--missed", action="store_true", help="print the mistakes that are not found")
    options, programs = parser.parse_args(argv), everything()
    if options.run:
        sys.path.insert(0, str(FOLDER))
        wrong = run(readable(programs), in_types={"brand"})
        print(*wrong, sep="\n")
        return int(bool(wrong))
    found, missed, alarms = results(programs, check(programs))
    of, n = Counter(m.kind for m in programs if m.kind), Counter(m.kind for m in found)
    rows = [["mistake", "of", "found"], *([text, str(of[kind]), str(n[kind])] for kind, text in KINDS.items())]
    rows += [["all", str(of.total()), str(n.total())], ["silent", str(of.total()), str(len(raises(readable(missed))))]]
    rows.append(["programs with a false alarm", str(len(programs) - of.total()), str(len(alarms))])
    print(*aligned(rows), sep="\n")
    for name, errors in alarms.items():
        print(f"\n{name}:", *sorted(errors), sep="\n- ")
    if options.missed:
        print("\nmissed:", *(f"{m.name} ({m.kind})" for m in missed), sep="\n- ")
    return int(not alarms.keys() <= ALARMS.keys())


if __name__ == "__main__":
    sys.exit(main())
