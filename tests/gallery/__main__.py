"""Write the gallery of mistakes, docs/gallery.md: `python -m tests.gallery`."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from branded.learn import why
from branded.mypy.check import check
from tests.gallery.programs import HERE, PEERS, RECORDED, Outcome, agree, run, shown
from tests.warm import warm

PAGE = HERE.parent.parent / "docs" / "gallery.md"
NAMES = {"jax": "JAX", "torch": "torch", "numpy": "numpy"}
WIDTH, LINES = 116, 4  # of a peer's message on the page

HEAD = """\
# The gallery of mistakes

These are mistakes that people make with `vmap`: what the program does in JAX, torch and numpy, what mypy and `branded`
say of it here, and what to write instead. Many have happened to somebody; a link says where.

*wrong* is a wrong number without a word. *error* is an error, and how good it is stands below the program. *right* is
what was wanted. `·` means that there is no such program: numpy has no derivatives, torch no names for axes. The column
mypy is for our programs, checked by `python -m branded check`: *error* before anything runs, or `-` for nothing.

{table}

{counts}

How to read the rest. A program is shown in full, as it is typed into Python; in its messages `...` stands for a place,
such as `app.py:7`. What mypy says of it has the number of the line of the program. numpy has no `vmap`, so its program
is the line with broadcasting, or the loop, that one would write for the same task. The peers' programs were run with
{versions}; their messages are cut after {lines} lines.

What this page simplifies: each program has one mistake, and is so small that one sees it. Another version of a library
may do something else. A mistake in the table that is *wrong* everywhere is not hopeless: use sizes that differ in a
test, and compare with a loop over the examples.
"""

FOOT = """\
`python -m tests.gallery` makes this page from [its programs](../tests/gallery/programs.py), and the tests run them all.
[The errors by their codes](errors.md) have the shortest program of each. More about types is in [mistakes before
anything runs](types.md), and of 66 larger programs with one mistake each in [the table of
brandbugs](../bench/brandbugs/RESULTS.md).
"""


class Mistake(NamedTuple):
    """A mistake: its words, and what every program of it did."""

    kind: str
    words: dict[str, Any]
    wrong: Outcome
    right: Outcome
    peers: dict[str, Outcome]
    mypy: str
    """What `branded check` says of the wrong program as it is shown."""
    mypy_of_right: str

    @property
    def title(self) -> str:
        return str(self.words["title"])

    @property
    def wanted(self) -> str:
        return str(self.words["wanted"])

    @property
    def is_found_by_mypy(self) -> bool:
        return re.search(r"^app\.py:\d+: (?!note: )", self.mypy, re.M) is not None

    def verdict(self, outcome: Outcome | None) -> str:
        """What a program did, in a word or two."""
        if outcome is None:
            return "·"
        if outcome.error:
            return "error"
        if agree(outcome.printed, self.wanted):
            return "right"
        return "**wrong**, but warns" if outcome.warning else "**wrong**"


def recorded() -> dict[str, Any]:
    """What the peers did: for each its version and its outcomes."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def mistakes() -> list[Mistake]:
    """All mistakes in the order of the page: ours run and checked now, the peers' as they were recorded."""
    kinds = tomllib.loads((HERE / "words.toml").read_text())["kinds"]
    entries = [(kind["name"], words) for kind in kinds for words in kind["mistakes"]]
    ours = {f"{side}_{words['file']}": _run(side, words["file"]) for _, words in entries for side in ("wrong", "right")}
    said = _mypy({name: outcome.source for name, outcome in ours.items()})
    did = {p: recorded()[p]["outcomes"] for p in PEERS}
    return [
        Mistake(
            kind,
            words,
            ours[f"wrong_{file}"],
            ours[f"right_{file}"],
            {p: Outcome(**did[p][file]) for p in PEERS if file in did[p]},
            said[f"wrong_{file}"],
            said[f"right_{file}"],
        )
        for kind, words in entries
        for file in [words["file"]]
    ]


def _run(side: str, file: str) -> Outcome:
    return run(shown(HERE / side / f"{file}.py"))


def _mypy(sources: dict[str, str]) -> dict[str, str]:
    """What `branded check` says of each program, in one run of mypy, as if each were app.py."""
    with TemporaryDirectory() as folder:
        for name, source in sources.items():
            Path(folder, f"{name}.py").write_text(source)
        files = [str(Path(folder, f"{name}.py")) for name in sources]
        warm(Path(folder, "cache"))
        text, _ = check(["--config-file=", "--cache-dir", str(Path(folder, "cache")), *files])
    said = dict.fromkeys(sources, "")
    name = ""
    for line in text.replace(folder + "/", "").splitlines():
        if start := re.match(r"(\w+)\.py:", line):
            name = start[1]
        elif not line.startswith(" "):  # the empty line before the rest, and the last one, which counts
            name = ""
        if name:
            said[name] += line.replace(f"{name}.py", "app.py") + "\n"
    return said


# ---- the page ----


def page(found: list[Mistake]) -> str:
    """The page, from what was found."""
    versions = {p: recorded()[p]["version"] for p in PEERS}
    said = ", ".join(f"{NAMES[p]} {versions[p]}" for p in PEERS)
    head = HEAD.format(table=_table(found), counts=_counts(found), versions=said, lines=LINES)
    parts = [head]
    intros = {kind["name"]: kind["words"] for kind in tomllib.loads((HERE / "words.toml").read_text())["kinds"]}
    for number, mistake in enumerate(found, 1):
        if mistake.kind in intros:
            parts.append(f"## {mistake.kind}\n\n{_filled(intros.pop(mistake.kind))}\n")
        parts.append(f"### {number}. {mistake.title}\n\n" + "\n\n".join(_sections(mistake)) + "\n")
    return "\n".join([*parts, "## Where this comes from\n", FOOT])


def _table(found: list[Mistake]) -> str:
    rows = ["| | mistake | JAX | torch | numpy | mypy | branded |", "|---|---|---|---|---|---|---|"]
    for number, m in enumerate(found, 1):
        peers = [m.verdict(m.peers.get(p)) for p in PEERS]
        cells = [*peers, "error" if m.is_found_by_mypy else "-", m.verdict(m.wrong)]
        rows.append(f"| {number} | [{m.title}](#{anchor(number, m)}) | {' | '.join(cells)} |")
    return "\n".join(rows)


def _counts(found: list[Mistake]) -> str:
    """How many of the programs are silently wrong, and how many of ours are found, and when."""

    def share(peer: str) -> str:
        did = [m for m in found if peer in m.peers]
        return f"{sum('wrong' in m.verdict(m.peers[peer]) for m in did)} of {len(did)} in {NAMES[peer]}"

    ours = [m for m in found if "wrong" in m.verdict(m.wrong)]
    errors = [m for m in found if m.wrong.error]
    early = sum(m.is_found_by_mypy for m in errors)
    unseen = sum(not m.is_found_by_mypy for m in ours)
    return _filled(
        f"Wrong without a word, or with a warning at most, are {', '.join(map(share, PEERS))}. Of our {len(found)} "
        f"programs {len(errors)} are refused at run time, {early} of them already by mypy. {len(ours)} run and are "
        f"wrong; mypy finds {len(ours) - unseen} of them, and **{unseen} nobody finds**: most of those are right "
        f"programs, for another task."
    )


def anchor(number: int, mistake: Mistake) -> str:
    """What a heading of the page is called in a link."""
    heading = f"{number}. {mistake.title}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def _sections(m: Mistake) -> Iterator[str]:
    yield _filled(m.words["words"])
    yield _block("python", [*_typed(m.wrong.source), *_ending(m.wrong)])
    if raised := re.match(r"branded\.errors\.(\w+)", m.wrong.error):
        code = why.of(raised[1])
        yield f"More of this error: [`{code}`](errors.md#{code}), by `python -m branded why {code}`."
    remarks = m.words.get("ours", "")
    if m.mypy:
        yield "mypy says:" if m.is_found_by_mypy else "mypy finds nothing, and notes:"
        yield _block("text", m.mypy.splitlines())
        yield from [_filled(remarks)] if remarks else []
    else:
        yield _filled(f"mypy finds nothing. {remarks}")
    if m.peers:
        yield "; ".join(f"{NAMES[p]}: {m.verdict(o)}" for p, o in m.peers.items()) + "."
        yield _block("text", [line for n, (p, o) in enumerate(m.peers.items()) for line in _transcript(p, o, n > 0)])
    remarks = m.words.get("peers")
    yield from [_filled(remarks)] if remarks else []
    yield _filled(f"**Instead:** {m.words['fix']}")
    yield _block("python", [*_typed(m.right.source), *_ending(m.right)])
    if seen := m.words.get("seen"):
        yield _filled("Seen in " + ", ".join(f"[{label}]({url})" for label, url in seen) + ".")


def _block(language: str, lines: Iterable[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _typed(source: str) -> Iterator[str]:
    """A program as it is typed into Python."""
    for line in source.splitlines():
        goes_on = line.startswith((" ", ")", "]", "}"))
        yield f"{'...' if goes_on else '>>>'} {line}"


def _ending(outcome: Outcome) -> list[str]:
    """What one of our programs ends with, as a doctest wants it."""
    if not outcome.error:
        return outcome.printed.splitlines()
    typed = re.sub(r"\n  at: +app\.py:\d+(?=\n|$)", "", outcome.error)  # what is typed at a prompt has no line
    typed = typed.replace("fori_loop(0, n, body, start)", "...")  # said by the line of a file
    anywhere = re.sub(r"\bat app\.py:\d+", "at ...", typed)
    return ["Traceback (most recent call last):", *anywhere.splitlines()]


def _transcript(peer: str, outcome: Outcome, follows: bool) -> list[str]:
    message = outcome.error or outcome.warning
    wrapped = [part for line in message.splitlines() if line.strip() for part in textwrap.wrap(line, WIDTH)]
    cut = [*wrapped[:LINES], "[...]"] if len(wrapped) > LINES else wrapped
    head = [*([""] if follows else []), f"# {NAMES[peer]}"]
    return [*head, *_typed(outcome.source), *cut, *outcome.printed.splitlines()]


def _filled(words: str) -> str:
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    PAGE.write_text(page(mistakes()))


if __name__ == "__main__":
    main()
