"""Count the batching mistakes that plain type checkers find: `python -m bench.plainbugs [--run | --missed]`.

`bench/plainbugs/programs` has programs in many styles. Each comment `# kind: code` in them is a mistake: the code
replaces the code of its line. pyright, pyrefly and ty check the program and each of its mistakes, without a plugin. A
mistake is found by an error that the correct program does not have; an error in the correct program is a false alarm.
The type of a tensor cannot show a forgotten None or a zip for an outer product: both need the names of axes (`Axes`),
which only mypy with the plugin knows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.pages.checkers import CHECKERS, Checker

from bench.brandbugs.__main__ import aligned, markdown
from bench.mapbugs.__main__ import Mutant, mistakes, mutants, run

FOLDER = Path(__file__).parent / "programs"
HELPERS = FOLDER / "helpers.py"
PROGRAMS = sorted({*FOLDER.glob("*.py")} - {HELPERS})
HEADING = "## Mistakes of batching that checkers without the plugin find"
KINDS = {
    "read": "read of a value",
    "if": "truth of a value",
    "brand": "wrong brand or row",
    "name": "wrong axis name",
    "key": "wrong key or field",
    "none": "forgotten None",
    "zip": "zip for outer",
    "out": "out_axes",
}
ALARMS = {("bayes", "ty"): "ty takes `Component(m, s)` of the untyped parameters of a lambda for one of all brands"}
"""False alarms that are known: the program and the checker."""
PLAIN = tuple(c for c in CHECKERS if c.name in ("pyright", "pyrefly", "ty"))


def everything() -> list[Mutant]:
    """All programs, each without a mistake and with each of them."""
    return [m for path in PROGRAMS for m in mutants(path, mistakes(KINDS))]


def check(checker: Checker, programs: Sequence[Mutant]) -> dict[str, set[str]]:
    """The errors of a checker for each program."""
    errors: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / HELPERS.name).write_text(HELPERS.read_text())
        for m in programs:
            (Path(folder) / f"{m.name}.py").write_text(m.text)
        for (file, line), message in checker.errors(Path(folder), ["."]):
            errors[Path(file).stem].add(f"{line}: {message}")
    return errors


class Results(NamedTuple):
    """Print the mistakes that the checkers find."""

    rows: list[list[str]]  # the table of mistakes found, by kind
    missed: dict[str, list[str]]  # the mistakes that a checker does not find
    alarms: dict[tuple[str, str], set[str]]  # the errors in programs without a mistake, by program and checker


def results(checkers: Sequence[Checker] = PLAIN) -> Results:
    """The results of checkers on all programs."""
    programs = everything()
    of = Counter(m.kind for m in programs)
    found: dict[str, Counter[str | None]] = {}
    missed: dict[str, list[str]] = {}
    alarms: dict[tuple[str, str], set[str]] = {}
    for checker in checkers:
        errors = check(checker, programs)
        right = {m.program: errors[m.name] for m in programs if not m.kind}
        seen = [m for m in programs if (errors[m.name] - right[m.program] if m.kind else errors[m.name])]
        found[checker.name] = Counter(m.kind for m in seen)
        missed[checker.name] = [f"{m.name} ({m.kind})" for m in programs if m.kind and m not in seen]
        alarms |= {(m.program, checker.name): errors[m.name] for m in programs if not m.kind and errors[m.name]}
    names = [c.name for c in checkers]
    rows = [["mistake", "of", *names]]
    rows += [[text, str(of[kind]), *(str(found[name][kind]) for name in names)] for kind, text in KINDS.items()]
    rows.append(["all", str(sum(of[k] for k in KINDS)), *(str(sum(found[n][k] for k in KINDS)) for n in names)])
    rows.append(["programs with a false alarm", str(of[None]), *(str(found[name][None]) for name in names)])
    return Results(rows, missed, alarms)


def lines() -> list[str]:
    """The section of bench/TYPECHECK.md, with its heading."""
    explained = (__doc__ or "").splitlines()[2:]
    return [HEADING, "", *explained, "", *markdown(results().rows)]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; not 0 with a false alarm that is not known."""
    parser = argparse.ArgumentParser(prog="python -m bench.plainbugs")
    parser.add_argument("--run", action="store_true", help="run the programs and the mistakes")
    parser.add_argument("--missed", action="store_true", help="print the mistakes that are not found")
    options = parser.parse_args(argv)
    if options.run:
        sys.path.insert(0, str(FOLDER))
        wrong = run(everything(), in_types={"brand"})
        print(*wrong, sep="\n")
        return int(bool(wrong))
    rows, missed, alarms = results()
    print(*aligned(rows), sep="\n")
    for (program, name), errors in alarms.items():
        print(f"\n{name}, {program}:", *sorted(errors), sep="\n- ")
    if options.missed:
        for name, mutants in missed.items():
            print(f"\n{name} misses:", *mutants, sep="\n- ")
    return int(alarms.keys() != ALARMS.keys())


if __name__ == "__main__":
    sys.exit(main())
