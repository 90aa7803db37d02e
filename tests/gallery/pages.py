"""Write the pages of the gallery: the index, docs/gallery.md, and one page per mistake in docs/gallery."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from branded.learn import why
from tests.gallery.mistakes import Kind, Mistake, recorded
from tests.gallery.programs import HERE, PEERS, Outcome

DOCS = HERE.parent.parent / "docs"
INDEX, FOLDER = DOCS / "gallery.md", DOCS / "gallery"
NAMES = {"jax": "JAX", "torch": "torch", "numpy": "numpy"}
WIDTH, LINES = 116, 4  # limits for a message of another library

HEAD = """\
# Gallery of vmap mistakes

Common mistakes with `vmap`. Each page shows a program, who finds the mistake and when, a fix, and the same program in
JAX, torch and numpy. For many there is a link to a report.

{counts}

*wrong* is a wrong result without an error, *error* is an error, *right* is the intended result. The columns mypy (with
our plugin) and pyright (without a plugin) are about our programs before they run, and branded is their result when they
run. `·` means that there is no such program: numpy has no derivatives, and torch no axis names.
"""

FOOT = """\
## How to read a page

A program is shown in full, as you would type it into Python; in its messages `...` stands for a place, such as
`app.py:7`. The messages of mypy have the line numbers of the program. numpy has no `vmap`, so its program is the
broadcasting expression or the loop for the same task. The other libraries are {versions}; their messages are cut after
{lines} lines. pyright is {pyright}.

Each program is small and has one mistake. Other versions of a library may behave differently. A mistake that is *wrong*
everywhere can still be found: test with different sizes, and compare with a loop over the examples.

`python -m tests.gallery` writes the pages from [their programs](../tests/gallery/programs.py), and the tests run all of
them. [Errors](errors.md) has the shortest program for each error, [Types](types.md) explains the messages of mypy, and
[brandbugs](../bench/brandbugs/RESULTS.md) has a table of 66 larger programs with one mistake each.

<script src="javascripts/gallery.js"></script>
"""


def pages(kinds: list[Kind]) -> dict[Path, str]:
    """Return the text of each page by its path."""
    parts = [HEAD.format(counts=_counts(kinds)), *map(_section, kinds), _stricter(kinds), _foot()]
    index = {INDEX: "\n".join(parts)}
    return index | {FOLDER / f"{m.slug}.md": _page(kind, m) for kind in kinds for m in kind.mistakes}


def _foot() -> str:
    record = recorded()
    versions = ", ".join(f"{NAMES[p]} {record[p]['version']}" for p in PEERS)
    return FOOT.format(versions=versions, lines=LINES, pyright=record["pyright"]["version"])


# ---- the index ----


def _section(kind: Kind) -> str:
    head = "| mistake | uses | JAX | torch | numpy | mypy | pyright | branded |\n|---|---|---|---|---|---|---|---|"
    return "\n".join([f"## {kind.name}\n\n{_filled(kind.words)}\n", head, *map(_row, kind.mistakes), ""])


def _row(m: Mistake) -> str:
    uses = " ".join(f"`{x}`" for x in m.uses)
    peers = [m.verdict(m.peers.get(p)) for p in PEERS]
    checkers = ["error" if is_found else "-" for is_found in (m.is_found_by_mypy, bool(m.pyright))]
    return f"| {' | '.join([f'[{m.title}](gallery/{m.slug}.md)', uses, *peers, *checkers, m.verdict(m.wrong)])} |"


STRICTER = """\
## Stricter checks

Two checks that you can ask for find more of the {silent} programs that are not detected. `vmap(f, strict=True)` finds
{strict} at run time, and mypy finds {typed} if [the types name the axes](axes.md) or the brands. {rest} are found by no
check.

| found by | mistake | |
|---|---|---|
{rows}
"""


def _stricter(kinds: list[Kind]) -> str:
    """Return the section about the checks that find what is not detected without them."""
    silent = [m for kind in kinds for m in kind.mistakes if m.is_silent]
    strict, typed = (sum(by in _found_stricter(m) for m in silent) for by in ("strict", "types"))
    rows = "\n".join(
        f"| {_found_stricter(m)} | [{m.title}](gallery/{m.slug}.md#{anchor(CHECKS)}) | {m.words['stricter']} |"
        for m in silent
    )
    rest = len(silent) - strict - typed
    return STRICTER.format(silent=len(silent), strict=strict, typed=typed, rest=rest, rows=rows)


CHECKS = "Stricter checks"


def _found_stricter(m: Mistake) -> str:
    return "`strict=True`" if m.strict else "types" if m.typed else "nothing"


def _counts(kinds: list[Kind]) -> str:
    """Return a paragraph that counts the silently wrong programs, and our programs that are found, and when."""
    found = [m for kind in kinds for m in kind.mistakes]

    def share(peer: str) -> str:
        did = [m for m in found if peer in m.peers]
        return f"{sum('wrong' in m.verdict(m.peers[peer]) for m in did)} of {len(did)} in {NAMES[peer]}"

    ours = [m for m in found if "wrong" in m.verdict(m.wrong)]
    errors = [m for m in found if m.wrong.error]
    early = sum(m.is_found_by_mypy for m in errors)
    unseen = sum(m.is_silent for m in found)
    return _filled(
        f"Programs that are wrong without an error (some print a warning): {', '.join(map(share, PEERS))}. Of our "
        f"{len(found)} programs, "
        f"{len(errors)} raise an error at run time, and mypy finds {early} of these before. {len(ours)} run and are "
        f"wrong; mypy finds {len(ours) - unseen} of these, and **{unseen} are not detected**. Most of them are correct "
        f"programs for another task; [stricter checks](#{anchor(CHECKS)}) find some of them."
    )


# ---- the page of a mistake ----


def _page(kind: Kind, m: Mistake) -> str:
    return f"# {m.title}\n\n" + "\n\n".join(_parts(kind, m)) + "\n"


def _parts(kind: Kind, m: Mistake) -> Iterator[str]:
    yield f"[The gallery](../gallery.md): [{kind.name}](../gallery.md#{anchor(kind.name)}). {_found_by(m)}"
    yield _filled(m.words["words"])
    yield _block("python", [*_typed(m.wrong.source), *_ending(m.wrong)])
    yield from _explanation(m.wrong.error)
    yield from _checkers(m)
    if m.is_silent:
        yield f"## {CHECKS}"
        yield _filled(m.words["stricter"])
    if m.strict:
        yield _block("python", [*_typed(m.strict.source), *_ending(m.strict)])
        yield from _explanation(m.strict.error)
    if m.typed:
        yield _block("python", [*_typed(m.typed.source), *_ending(m.typed)])
        yield "mypy reports:"
        yield _block("text", m.mypy_of_typed.splitlines())
    if m.is_silent:
        yield "## Fix"
    yield _filled(f"**Instead:** {m.words['fix']}")
    yield _block("python", [*_typed(m.right.source), *_ending(m.right)])
    yield from _others(m)
    if seen := m.words.get("seen"):
        yield _filled("Seen in " + ", ".join(f"[{label}]({url})" for label, url in seen) + ".")


def _explanation(error: str) -> Iterator[str]:
    if raised := re.match(r"branded\.errors\.(\w+)", error):
        code = why.code_of(raised[1])
        yield f"See [`{code}`](../errors.md#{code}), or run `python -m branded why {code}`."


def _found_by(m: Mistake) -> str:
    who = {"mypy": m.is_found_by_mypy, "pyright": bool(m.pyright), "an error at run time": bool(m.wrong.error)}
    found = [name for name, does in who.items() if does]
    if found:
        return f"Found by {' and '.join([', '.join(found[:-1]), found[-1]] if found[1:] else found)}."
    return "Not a mistake here." if m.verdict(m.wrong) == "right" else "Not detected."


def _checkers(m: Mistake) -> Iterator[str]:
    """Yield the messages of mypy and pyright for the wrong program, and remarks."""
    remarks = m.words.get("ours", "")
    if m.mypy:
        yield "mypy reports:" if m.is_found_by_mypy else "mypy finds no error, and notes:"
        yield _block("text", m.mypy.splitlines())
    first = "" if m.mypy else "mypy does not find it."
    if m.pyright:
        line, says = re.findall(r"^app\.py:(\d+): (.*)", m.pyright, re.M)[0]
        same = ", and the same for the fixed program" if m.pyright_of_right else ""
        first += f" pyright reports for line {line}: `{says}`{same}."
    elif m.pyright_of_right:
        first += " pyright does not find it, and rejects the fixed program below."
    yield from [_filled(said)] if (said := f"{first} {remarks}".strip()) else []


def _others(m: Mistake) -> Iterator[str]:
    """Yield the programs of the other libraries in a fold."""
    remarks = m.words.get("peers")
    if m.peers:
        did = "; ".join(f"{NAMES[p]}: {m.verdict(o).replace('**', '')}" for p, o in m.peers.items())
        yield f"<details><summary>In other libraries: {did}</summary>"
        yield _block("text", [line for n, (p, o) in enumerate(m.peers.items()) for line in _transcript(p, o, n > 0)])
    yield from [_filled(remarks)] if remarks else []
    if m.peers:
        yield "</details>"


def anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-")


def _block(language: str, lines: Iterable[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _typed(source: str) -> Iterator[str]:
    """Yield the lines of a program as typed at the Python prompt."""
    for line in source.splitlines():
        goes_on = line.startswith((" ", ")", "]", "}"))
        yield f"{'...' if goes_on else '>>>'} {line}"


def _ending(outcome: Outcome) -> list[str]:
    """Return the expected output of one of our programs in the form of a doctest."""
    if not outcome.error:
        return outcome.printed.splitlines()
    typed = re.sub(r"\n  at: +app\.py:\d+(?=\n|$)", "", outcome.error)  # code typed at a prompt has no line number
    typed = typed.replace("fori_loop(0, n, body, start)", "...")  # the message quotes this only for code in a file
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
