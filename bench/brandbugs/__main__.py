"""Count the mistakes with vmap that a type checker finds: `python -m bench.brandbugs`.

Three folders have each program: typed by `branded`, by JAX with jaxtyping, and by torch. One file holds the correct
version and one mistake: `# bug: <code>` replaces the code of its line, `# bug+: <code>` adds a line after it. Both
versions are written to files and checked, all files of a library at once. A mistake is *found* by an error that only
the wrong version has, *noted* by a note of the plugin without an error, and *missed* otherwise. An error in the correct
version is a *false alarm*.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
OURS = HERE.parents[1] / "tests" / "types" / "mypy.ini"
"""The same checks, with the plugin: tests make a cache by it, which they begin with."""
LIBRARIES = {"ours": ("branded", "tinygrad"), "jax": ("jax", "jaxtyping"), "torch": ("torch",)}
"""The folders of the programs, and the packages that their types need."""

KINDS = (
    "zipped brands",
    "brand forgotten",
    "levels exchanged",
    "closed-over batch",
    "escape",
    "in_axes",
    "out_axes",
    "unmapped passed as mapped",
    "branch on a Vec",
    "read of a Vec",
    "one example to a mapped function",
    "monomorphic body",
    "wrong number of arguments",
    "named brands mixed",
)
_BUG = re.compile(r"^(?P<indent> *)(?P<code>.*?) +# bug(?P<more>\+?): (?P<bug>.*)$")


NOTE = "note: "
"""The prefix of the code of a note."""


class Error(NamedTuple):
    """An error in a file, without its place: the mistake may move it."""

    code: str
    message: str


class Verdict(NamedTuple):
    """The messages of a checker for a program."""

    found: bool
    false_alarm: bool
    noted: bool = False

    def __str__(self) -> str:
        what = "found" if self.found else "noted" if self.noted else "missed"
        return what + (", false alarm" if self.false_alarm else "")


class Program(NamedTuple):
    """The facts in the docstring of a program in `ours`; `unseen` is the reason why types cannot find its mistake."""

    name: str
    says: str
    kind: str
    mistake: str
    unseen: str | None


def programs(only: str = "") -> list[Program]:
    """The programs with `only` in their name, by kind and name."""
    found = [_described(path) for path in (HERE / "ours").glob("*.py") if only in path.stem]
    return sorted(found, key=lambda p: (KINDS.index(p.kind), p.name))


def _described(path: Path) -> Program:
    doc = path.read_text().split('"""')[1]
    lines = dict(line.split(": ", 1) for line in doc.splitlines() if line.startswith(("Mistake: ", "Unseen: ")))
    kind, mistake = lines["Mistake"].split(": ", 1)
    return Program(path.stem, doc.splitlines()[0], kind, mistake, lines.get("Unseen"))


def versions(text: str) -> tuple[str, str]:
    """The right version of a program and the wrong one, without the marks of the mistake."""
    right: list[str] = []
    wrong: list[str] = []
    for line in text.splitlines():
        if (m := _BUG.match(line)) is None:
            right.append(line)
            wrong.append(line)
            continue
        code, bug = m["indent"] + m["code"], m["indent"] + m["bug"]
        right.append(code)
        wrong += [code, bug] if m["more"] else [bug]
    if right == wrong:
        raise ValueError("a program without a mistake")
    return "\n".join(right) + "\n", "\n".join(wrong) + "\n"


def write_versions(library: str, names: Sequence[str], into: Path) -> None:
    """Both versions of each program: `right/NAME_right.py` and `wrong/NAME_wrong.py`, module names that differ."""
    for name in names:
        texts = versions((HERE / library / f"{name}.py").read_text())
        for version, text in zip(("right", "wrong"), texts, strict=True):
            (into / version).mkdir(exist_ok=True)
            (into / version / f"{name}_{version}.py").write_text(text)


# ---- checkers: each takes a folder of files, and gives the errors by the stem of the file ----


def mypy(folder: Path, library: str) -> Mapping[str, list[Error]]:
    """Run mypy --strict with `truthy-bool` and `warn_unreachable` on all files, and with the plugin on ours."""
    checks = "strict = True\nenable_error_code = truthy-bool\nwarn_unreachable = True\n"
    others = f"[mypy]\npython_version = 3.12\n{checks}"
    (folder / "mypy.ini").write_text(OURS.read_text() if library == "ours" else others)
    out = _run([sys.executable, "-m", "mypy", "--output=json", "--no-error-summary", "right", "wrong"], folder)
    rows = [json.loads(line) for line in out.splitlines()]
    kinds = {"error": "", "note": NOTE}
    said = ((r["file"], kinds[r["severity"]] + (r["code"] or ""), r["message"]) for r in rows)
    return _by_file(row for row in said if not row[1].startswith(NOTE) or _stands_alone(*row[1:]))


def _stands_alone(code: str, message: str) -> bool:
    """Is this a note of the plugin that is below no error?"""
    return code == f"{NOTE}brand" and not message.startswith(" ")


def pyright(folder: Path, library: str) -> Mapping[str, list[Error]]:
    """pyright in its strict mode over all files; it has no plugins."""
    settings = {"include": ["right", "wrong"], "typeCheckingMode": "strict", **_QUIET}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    out = _run([*_pyright_command(), "--outputjson", "--pythonpath", sys.executable, "-p", "."], folder)
    rows = json.loads(out)["generalDiagnostics"]
    return _by_file((r["file"], r.get("rule", ""), r["message"]) for r in rows if r["severity"] == "error")


_QUIET = dict.fromkeys(
    [f"reportUnknown{what}Type" for what in ("Argument", "Lambda", "Member", "Parameter", "Variable")]
    + ["reportMissingTypeStubs", "reportUnusedVariable", "reportUnusedFunction", "reportUnnecessaryComparison"],
    "none",
)
"""Rules of style, and rules that complain of the types a library does not have; neither is about a mistake."""


def _pyright_command() -> list[str]:
    for name in ("basedpyright", "pyright"):
        beside = Path(sys.executable).with_name(name)
        if path := (str(beside) if beside.exists() else shutil.which(name)):
            return [path]
    return []


def _run(command: Sequence[str], folder: Path) -> str:
    """Return the output of a checker, or end the benchmark if the checker itself failed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or done.stderr.strip():
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _by_file(rows: Iterator[tuple[str, str, str]]) -> Mapping[str, list[Error]]:
    found: defaultdict[str, list[Error]] = defaultdict(list)
    for file, code, message in rows:
        found[Path(file).stem].append(Error(code, message.splitlines()[0]))
    return found


# ---- the table ----


class Column(NamedTuple):
    """One checker on one library: its verdict on each program."""

    library: str
    checker: str
    verdicts: dict[str, Verdict]


def verdict(right: Sequence[Error], wrong: Sequence[Error]) -> Verdict:
    """Errors are compared by their codes, since a false alarm may quote the mistake without finding it."""
    more = Counter(e.code for e in wrong) - Counter(e.code for e in right)
    errors = [code for code in more if not code.startswith(NOTE)]
    return Verdict(bool(errors), any(not e.code.startswith(NOTE) for e in right), bool(more) and not errors)


def columns(names: Sequence[str], note: Callable[[str], None]) -> Iterator[Column]:
    """Run each checker on each installed library, and list the omitted pairs and the false alarms."""
    checkers = {"mypy": mypy} | ({"pyright": pyright} if _pyright_command() else {})
    if "pyright" not in checkers:
        note("pyright is left out: no executable `basedpyright` or `pyright`.")
    installed = {d.name for d in importlib.metadata.distributions()}
    for library, needs in LIBRARIES.items():
        if missing := [n for n in needs if n not in installed]:
            note(f"{library} is left out: {', '.join(missing)} not installed.")
            continue
        for checker, check in checkers.items():
            with tempfile.TemporaryDirectory() as folder:
                write_versions(library, names, Path(folder))
                errors = check(Path(folder), library)
            pairs = {n: (errors.get(f"{n}_right", []), errors.get(f"{n}_wrong", [])) for n in names}
            alarms: defaultdict[Error, list[str]] = defaultdict(list)
            for name, error in ((n, e) for n, (right, _) in pairs.items() for e in dict.fromkeys(right)):
                if error.code.startswith(NOTE):
                    continue
                alarms[error].append(name)
            for (code, message), where in alarms.items():
                note(f"false alarm of {checker} on {library}: {message} [{code}]: {', '.join(where)}")
            yield Column(library, checker, {n: verdict(*pair) for n, pair in pairs.items()})


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tables; not 0 where mypy with our plugin is wrong without a reason that is written down."""
    parser = argparse.ArgumentParser(prog="python -m bench.brandbugs", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the tables to a file too")
    parser.add_argument("--only", metavar="NAME", default="", help="the programs with this in their name")
    options = parser.parse_args(argv)
    chosen = programs(options.only)
    if not chosen:
        parser.error(f"no program has {options.only!r} in its name")

    notes: list[str] = []
    found = list(columns([p.name for p in chosen], notes.append))
    if not found:
        sys.exit("\n".join(notes))
    table = [["program", "mistake", *(f"{c.library} {c.checker}" for c in found)]]
    table += [[p.name, p.kind, *(str(c.verdicts[p.name]) for c in found)] for p in chosen]
    totals = [["library", "checker", "found", "noted", "missed", "false alarms", "of"]]
    for c in found:
        hits, noted, alarms = (sum(v[i] for v in c.verdicts.values()) for i in (0, 2, 1))
        what = f"{(name := LIBRARIES[c.library][0])} {importlib.metadata.version(name)}"
        totals.append([what, c.checker, *map(str, (hits, noted, len(chosen) - hits - noted, alarms, len(chosen)))])
    notes += [f"unseen by types: {p.name}: {p.unseen}" for p in chosen if p.unseen]

    print(*aligned(table), "", *aligned(totals), "", *notes, sep="\n")
    if options.markdown is not None:
        head = ["# Mistakes with vmap that a type checker finds", "", *(__doc__ or "").splitlines()[2:], ""]
        tail = [f"- {line}" for line in notes]
        options.markdown.write_text("\n".join([*head, *markdown(totals), "", *markdown(table), "", *tail]) + "\n")
    with_plugin = [c.verdicts for c in found if (c.library, c.checker) == ("ours", "mypy")]
    return int(any(v[p.name].false_alarm or not (v[p.name].found or p.unseen) for v in with_plugin for p in chosen))


if __name__ == "__main__":
    sys.exit(main())
