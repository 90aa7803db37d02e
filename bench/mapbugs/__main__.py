"""Count the batching mistakes that mypy finds: `python -m bench.mapbugs [--run]`.

`programs` has 20 programs. Each comment `# kind: code` in them is a mistake: the code replaces the code of its line. The
kinds are a forgotten None in in_axes (`none`), one vmap instead of two nested ones (`zip`), a wrong axis or shape
(`axis`), and a wrong out_axes (`out`). mypy with the plugin checks the program and each of its mistakes four times:

- *rows*: the data has no shape that mypy can follow;
- *shapes*: the data has the shapes in the program, without names for the axes;
- *Axes*: the data has named axes, by `as_axes`, and functions are annotated with `Tensor` only;
- *Axes, equal lengths*: the same with one length for all axes, so that lengths reveal nothing.

An error in a program without a mistake is a *false alarm*. `--run` runs everything: a program must run, and a mistake
must raise an error or change the result.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.brandbugs.__main__ import aligned, markdown

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
KINDS = {"none": "forgotten None", "zip": "zip for outer", "axis": "axis or shape", "out": "out_axes"}
WAYS = ("rows", "shapes", "Axes", "Axes, equal lengths")


def mistakes(kinds: Iterable[str]) -> re.Pattern[str]:
    """A line with a mistake of one of these kinds."""
    return re.compile(rf"^(?P<indent> *)(?P<code>.*?)  # (?P<kind>{'|'.join(kinds)}): (?P<bug>.*)$")


_IDENTITY = "\n\ndef as_axes(x: Tensor, *names: object) -> Tensor:\n    return x\n\n"
_OPAQUE = "\n\ndef as_axes(x: Tensor, *names: object) -> Tensor:\n    return Tensor(eval(repr(x.tolist())))\n\n"
CONFIG = "[mypy]\nplugins = branded.mypy\nenable_error_code = truthy-bool\n"


class Mutant(NamedTuple):
    """A program with one mistake, or with none (`kind` is None)."""

    program: str
    kind: str | None
    line: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.program}_{self.line}"


def mutants(path: Path, pattern: re.Pattern[str] = mistakes(KINDS)) -> Iterator[Mutant]:  # noqa: B008
    """The program without a mistake, then with each of them."""
    lines = path.read_text().splitlines()
    found = [pattern.match(line) for line in lines]
    right = [m["indent"] + m["code"] if m else line for m, line in zip(found, lines, strict=True)]
    yield Mutant(path.stem, None, 0, "\n".join(right) + "\n")
    for i, m in enumerate(found):
        if m is not None:
            wrong = [*right[:i], m["indent"] + m["bug"], *right[i + 1 :]]
            yield Mutant(path.stem, m["kind"], i + 1, "\n".join(wrong) + "\n")


def version(text: str, way: str) -> str:
    """The source of a program in one of the WAYS."""
    if way in ("rows", "shapes"):
        text = text.replace(", as_axes", "").replace("as_axes, ", "")
        at = text.index("\n\nclass ")
        return text[:at] + (_OPAQUE if way == "rows" else _IDENTITY) + text[at:]
    return equal(text) if way != "Axes" else text


def equal(text: str) -> str:
    """The program with one length for all axes."""

    def one(m: re.Match[str]) -> str:
        return m[1] + ", ".join(["3"] * len(m[2].split(", "))) + m[3]

    return re.sub(r"^((?:[A-Z], )+[A-Z] = )([\d, ]+)()$", one, text, count=1, flags=re.M)


def check(everything: Sequence[Mutant], way: str) -> dict[str, set[str]]:
    """The errors of mypy for each program."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "mypy.ini").write_text(CONFIG)
        for m in everything:
            (root / f"{m.name}.py").write_text(version(m.text, way))
        command = [sys.executable, "-m", "mypy", "--output=json", "--no-error-summary", "."]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    errors: dict[str, set[str]] = {m.name: set() for m in everything}
    for row in map(json.loads, done.stdout.splitlines()):
        if row["severity"] == "error":
            errors[Path(row["file"]).stem].add(f"{row['line']}: {row['message']}")
    return errors


RUN = """
import json, sys, types
sys.modules["program"] = types.ModuleType("program")
def values(v):
    if isinstance(v, tuple):
        return [values(i) for i in v]
    return [list(v.shape), v.tolist()]
for text in json.load(sys.stdin):
    try:
        names = vars(sys.modules["program"])
        names.clear()
        names["__name__"] = "program"
        exec(compile(text, "program", "exec", dont_inherit=True), names)
        print(json.dumps(values(names["result"])))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}".splitlines()[0]))
"""


def run(everything: Sequence[Mutant], in_types: Container[str] = (), before: str = "") -> list[str]:
    """Return the faults of the programs themselves: a program that raises, or a mistake without effect.

    Mistakes of the kinds `in_types` may affect types only. The code `before` runs once, before all programs.
    """
    done = subprocess.run(
        [sys.executable, "-c", before + RUN], input=json.dumps([m.text for m in everything]), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    wrong, results = [], [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(everything):
        sys.exit(done.stderr)
    right = {m.program: r for m, r in zip(everything, results, strict=True) if m.kind is None}
    for m, result in zip(everything, results, strict=True):
        if m.kind is None and isinstance(result, str):
            wrong.append(f"{m.name}: {result}")
        elif m.kind is not None and m.kind not in in_types and result == right[m.program]:
            wrong.append(f"{m.name}: the mistake changes nothing")
    return wrong


def table() -> tuple[list[list[str]], dict[str, list[str]], int]:
    """The table of mistakes found by kind, those that are missed in each way, and the number of false alarms."""
    everything = [m for path in PROGRAMS for m in mutants(path)]
    of = Counter(m.kind for m in everything)
    found = {way: Counter[str | None]() for way in WAYS}
    missed: dict[str, list[str]] = {}
    for way in WAYS:
        errors = check(everything, way)
        for m in everything:
            found[way][m.kind] += bool(errors[m.name])
        missed[way] = [f"{m.name} ({m.kind})" for m in everything if m.kind and not errors[m.name]]
        missed[way] += [f"FALSE {m.name}: {errors[m.name]}" for m in everything if not m.kind and errors[m.name]]
    rows = [["mistake", "of", *WAYS]]
    rows += [[text, str(of[kind]), *(str(found[way][kind]) for way in WAYS)] for kind, text in KINDS.items()]
    total = sum(of[kind] for kind in KINDS)
    rows.append(["all", str(total), *(str(sum(found[way][kind] for kind in KINDS)) for way in WAYS)])
    rows.append(["false alarms", str(of[None]), *(str(found[way][None]) for way in WAYS)])
    return rows, missed, sum(found[way][None] for way in WAYS)


def lines() -> list[str]:
    """The section of bench/TYPECHECK.md."""
    rows, _, _ = table()
    explained = (__doc__ or "").splitlines()[2:-3]
    return ["## Mistakes of batching that mypy finds", "", *explained, "", *markdown(rows)]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; not 0 with a false alarm."""
    parser = argparse.ArgumentParser(prog="python -m bench.mapbugs")
    parser.add_argument("--run", action="store_true", help="run the programs and the mistakes")
    parser.add_argument("--missed", action="store_true", help="print the mistakes that are not found")
    options = parser.parse_args(argv)
    if options.run:
        wrong = run([m for path in PROGRAMS for m in mutants(path)])
        print(*wrong, sep="\n")
        return int(bool(wrong))
    rows, missed, alarms = table()
    print(*aligned(rows), sep="\n")
    if options.missed:
        for way, names in missed.items():
            print(f"\n{way}:", *names, sep="\n- ")
    return int(bool(alarms))


if __name__ == "__main__":
    sys.exit(main())
