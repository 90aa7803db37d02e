"""Measure how plain the English of the project is: `python -m tests.docs.prose [--list] [PATH ...]`.

Three figures, each with a limit in `LIMITS`: "what" per 1,000 words, listed phrases per 1,000 words, and docstrings
that open with a relative pronoun or a quantity.  A figure is a place to look, not a verdict.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LIMITS = (1.5, 2.0, 20)
"""Limits for `branded/`: "what" per 1,000 words, listed phrases per 1,000 words, docstrings with a listed opener."""
PAGE_LIMITS = (2.0, 1.5, 0)
"""The same limits for README and the pages of docs/."""
OPENERS = frozenset(["What", "Of", "So", "Those", "Where", "Which", "While", "Whose", "That", "As"])
PHRASES = re.compile(
    r"""\b(?:without\ a\ word | in\ silence | beside | in\ place\ of | worked\ out | mend(?:s|ed|ing)? | drawn
    | (?:is|are)\ none | is\ no | of\ one's\ own | of\ which | (?:those|that)\ of | as\ (?:it\ is|they\ are|it\ comes)
    | for\ nothing | (?:is|are)\ (?:told|said) | stands?\ (?:in|at|behind|before|beside) | made\ anew | by\ itself
    | goes\ together | the\ peers | by\ the\ clock | time\ of\ the\ processor | so\ many
    | meets?\ (?:one|each|every))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Phrases to avoid in technical prose: each has a plainer form."""


class Figures(NamedTuple):
    """Counts for one or more texts."""

    words: int = 0
    whats: int = 0
    phrases: int = 0
    openers: int = 0

    def __add__(self, other: Figures) -> Figures:  # type: ignore[override]
        return Figures(*map(sum, zip(self, other, strict=True)))

    def rates(self) -> tuple[float, float, int]:
        """Return the figures that `LIMITS` bounds."""
        thousands = max(self.words, 1) / 1000
        return self.whats / thousands, self.phrases / thousands, self.openers


def texts_of(source: str) -> Iterator[tuple[str, bool]]:
    """Yield each docstring and comment of a Python source, with a flag that is true for docstrings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield re.sub(r">>>.*|^\s*\.\.\..*$", " ", node.value.value, flags=re.M), True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string[1:], False


def prose_of(markdown: str) -> str:
    """Return the text of a Markdown page without code, tables and tags."""
    return re.sub(r"```.*?```|`[^`\n]*`|<[^>\n]+>|^\|[^\n]*$", " ", markdown, flags=re.S | re.M)


def figures(path: Path) -> Figures:
    """Measure a Python file or a page."""
    text = path.read_text(encoding="utf-8")
    texts = [*texts_of(text)] if path.suffix == ".py" else [(prose_of(text), False)]
    whole = " ".join(t for t, _ in texts)
    openers = sum(is_doc and t.lstrip().split(" ", 1)[0] in OPENERS for t, is_doc in texts)
    words, whats = (len(re.findall(p, whole, re.IGNORECASE)) for p in (r"[a-z']+", r"\bwhat\b"))
    return Figures(words, whats, len(PHRASES.findall(whole)), openers)


def files(paths: Sequence[Path]) -> list[Path]:
    return [f for p in paths for f in ([*p.rglob("*.py"), *p.rglob("*.md")] if p.is_dir() else [p])]


def pages() -> list[Path]:
    """Return README and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.docs.prose", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; without any, branded/ and the pages")
    parser.add_argument("--list", action="store_true", help="list the files with most findings")
    options = parser.parse_args()
    if options.paths:
        return report(files(options.paths), LIMITS, options.list)
    return report(files([ROOT / "branded"]), LIMITS, options.list) | report(pages(), PAGE_LIMITS, options.list)


def report(paths: Sequence[Path], limits: tuple[float, float, int], listed: bool) -> bool:
    """Print the figures of some files, and return whether they exceed the limits."""
    each = {f: figures(f) for f in paths}
    if listed:
        for f, n in sorted(each.items(), key=lambda item: -(item[1].whats + item[1].phrases))[:40]:
            print(f"{n.whats + n.phrases:4} of {n.words:6} words  {f}")
    whole = sum(each.values(), Figures())
    whats, phrases, openers = whole.rates()
    print(f"{whole.words} words, per 1,000: what {whats:.1f}, listed {phrases:.1f}; {openers} docstrings open so")
    return any(found > limit for found, limit in zip(whole.rates(), limits, strict=True))


if __name__ == "__main__":
    sys.exit(main())
