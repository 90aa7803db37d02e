"""Run type checkers without a plugin on correct and wrong programs: `python -m bench.plain [--markdown FILE]`.

The correct programs are the correct versions of `bench/brandbugs`, the examples, the sections of
`tests/types/accepted`, which are written for the plugin, the programs of `tests/types/naive`, which have no batched
types, and the pages of the documentation. A program is *clean* if it has no error. The mistakes are those of
`bench/brandbugs` and `bench/naive.toml`. A mistake is *found* by an error on a line where the correct version has none.
The table also has mypy with the plugin. Seconds are processor time of one run over all files, without a cache.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from bench.brandbugs.__main__ import aligned, markdown, versions
from tests.pages.checkers import CHECKERS, Checker
from tests.support.pages import PAGES, ROOT, page_code

CORPORA = {
    "brandbugs": "correct versions of brandbugs",
    "examples": "examples",
    "accepted": "sections of tests/types/accepted",
    "naive": "programs without batched types",
    "docs": "pages of the documentation",
}
LENIENT = "# mypy: disallow-untyped-defs=False, disallow-any-generics=False, warn-return-any=False, implicit-reexport\n"
"""The mypy options for the pages: some of their functions have no annotations."""
_SECTION = re.compile(r"^# --- .*\n", re.MULTILINE)


class Program(NamedTuple):
    """A file, and the first lines of its sections, which separate its errors."""

    corpus: str
    name: str
    text: str
    starts: tuple[int, ...] = (1,)

    @property
    def file(self) -> str:
        return f"{self.corpus}_{self.name}.py"


def right() -> Iterator[Program]:
    for p in sorted((ROOT / "bench" / "brandbugs" / "ours").glob("*.py")):
        yield Program("brandbugs", p.stem, versions(p.read_text())[0])
    for p in sorted((ROOT / "examples").glob("*.py")):
        yield Program("examples", p.stem, p.read_text())
    for p in sorted((ROOT / "tests" / "types" / "accepted").glob("*.py")):
        text = p.read_text()
        starts = tuple(text.count("\n", 0, m.start()) + 1 for m in _SECTION.finditer(text))
        yield Program("accepted", p.stem, text, starts)
    for p in sorted((ROOT / "tests" / "types" / "naive").glob("*.py")):
        yield Program("naive", p.stem, p.read_text())
    for page in PAGES:
        if text := page_code(page):
            yield Program("docs", re.sub(r"\W", "_", page.removesuffix(".md")), LENIENT + text)


def wrong() -> Iterator[tuple[Program, Program]]:
    """A program with a mistake, behind the right one."""
    known = {p.file: p for p in right()}
    for p in sorted((ROOT / "bench" / "brandbugs" / "ours").glob("*.py")):
        good = known[f"brandbugs_{p.stem}.py"]
        yield good, Program("brandbugs", f"{p.stem}_wrong", versions(p.read_text())[1])
    for i, m in enumerate(tomllib.loads((ROOT / "bench" / "naive.toml").read_text())["mistakes"]):
        good = known[f"naive_{m['file']}.py"]
        yield good, Program("naive", f"{m['file']}_{i:02}_wrong", good.text.replace(m["right"], m["wrong"]))


# ---- why a checker complains ----

_TYPES = [
    re.compile(r"[Ee]xpected [`\"](?P<want>[^`\"]*)[`\"],? (?:got|found) [`\"](?P<got>[^`\"]*)"),
    re.compile(r"(?:got|has type|incompatible type) \"(?P<got>[^\"]*)\".*(?:expected|has type) \"(?P<want>[^\"]*)"),
    re.compile(r"[`\"](?P<got>[^`\"]*)[`\"] (?:is not assignable|cannot be assigned).*?type [`\"](?P<want>[^`\"]*)"),
    re.compile(r"[`\"](?P<got>[^`\"]*)[`\"] is not assignable to [`\"](?P<want>[^`\"]*)"),
]
_EMPTY = re.compile(r"Vec(\[Never(, [^\]]*(\[[^\]]*\])?)?\])?(?!\[)")
_OPEN = re.compile(r"Vec\[(Unknown|Any|@_)\b")
CAUSES = (
    "a `Vec[Never]` where a `Tensor` is expected",
    "a `Vec` with unknown brands where a `Tensor` is expected",
    "too many brands: the checker does not remove one",
    "a `Vec` is passed to a function of tensors",
    "`assert_type` of a type that only the plugin infers",
    "other",
)


def cause(text: str) -> str:
    """Return the cause of an error, from the types in its message."""
    first = text.split("\n")[0]
    if "assert_type" in text or "assert-type" in text or "does not match asserted type" in text:
        return CAUSES[4]
    found = next((m for p in _TYPES if (m := p.search(first))), None)
    if found is None:
        return CAUSES[5]
    got, want = found["got"], found["want"]
    if _OPEN.search(got):
        return CAUSES[1]
    if "Vec[" not in _EMPTY.sub("Tensor", got):
        return CAUSES[0] if "Vec" in got else CAUSES[5]
    return CAUSES[3] if "rgument" in first and "Vec[" not in _EMPTY.sub("Tensor", want) else CAUSES[2]


# ---- the tables ----


class Said(NamedTuple):
    """The result of a checker: the lines with errors and their texts for each file, and its time in seconds."""

    errors: dict[str, list[tuple[int, str]]]
    seconds: float


def run(checker: Checker, folder: Path, files: Sequence[str]) -> Said:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    errors: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    # calls of tinygrad's untyped functions are not mistakes
    calls = ["--allow-untyped-calls"] if "mypy" in checker.command else []
    for (file, line), text in checker.errors(folder, [*calls, *files]):
        errors[file].append((line, text))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Said(errors, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def clean(said: Said, p: Program) -> int:
    """How many sections of a program have no error."""
    lines = {line for line, _ in said.errors.get(p.file, [])}
    ends = [*p.starts[1:], sys.maxsize]
    return sum(not any(a <= line < b for line in lines) for a, b in zip(p.starts, ends, strict=True))


def found(said: Said, good: Program, bad: Program) -> bool:
    """Is there an error on a line where the right program has none?"""
    old, new = good.text.splitlines(), bad.text.splitlines()
    at: dict[int, int] = {}  # the lines of the wrong program, in the right one
    for _, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        at |= {c + i + 1: a + i + 1 for i in range(min(b - a, d - c))}
    alarms = {line for line, _ in said.errors.get(good.file, [])}
    return any(at.get(line) not in alarms for line, _ in said.errors.get(bad.file, []))


def tables(names: Sequence[str], note: bool = False) -> Iterator[list[list[str]]]:
    programs, mistakes = list(right()), list(wrong())
    with tempfile.TemporaryDirectory() as folder:
        for p in [*programs, *(bad for _, bad in mistakes)]:
            Path(folder, p.file).write_text(p.text)
        Path(folder, "examples").symlink_to(ROOT / "examples")  # a page imports them
        files = [p.file for p in programs] + [bad.file for _, bad in mistakes]
        said = {c.name: run(c, Path(folder), files) for c in CHECKERS if c.name in names}
    rows = [["", *said]]
    for corpus, title in CORPORA.items():
        own = [p for p in programs if p.corpus == corpus]
        total = sum(len(p.starts) for p in own)
        rows.append([f"{title}: clean, of {total}", *(str(sum(clean(s, p) for p in own)) for s in said.values())])
    for corpus, title in (("brandbugs", "mistakes in brandbugs"), ("naive", "mistakes without batched types")):
        pairs = [pair for pair in mistakes if pair[1].corpus == corpus]
        hits = (str(sum(found(s, *pair) for pair in pairs)) for s in said.values())
        rows.append([f"{title}: found, of {len(pairs)}", *hits])
    yield [*rows, ["seconds", *(f"{s.seconds:.0f}" for s in said.values())]]
    why = {n: Counter(cause(text) for p in programs for _, text in s.errors.get(p.file, [])) for n, s in said.items()}
    yield [["errors in correct programs", *said], *([c, *(str(why[n][c]) for n in said)] for c in CAUSES)]
    if note:
        for name, s in said.items():
            for p in programs:
                for line, text in s.errors.get(p.file, []):
                    print(f"{name}: {p.file}:{line}: {cause(text)}: {text.splitlines()[0]}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plain")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the tables to a file")
    parser.add_argument("--only", metavar="NAMES", help="the checkers, with commas between them")
    parser.add_argument("--errors", action="store_true", help="print each error in a correct program")
    options = parser.parse_args(argv)
    names = options.only.split(",") if options.only else [c.name for c in CHECKERS if c.name != "basedpyright"]
    written = ["# Type checkers without the plugin", "", *(__doc__ or "").splitlines()[2:]]
    for table in tables(names, options.errors):
        print(*aligned(table), "", sep="\n")
        written += ["", *markdown(table)]
    if options.markdown is not None:
        options.markdown.write_text("\n".join(written) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
