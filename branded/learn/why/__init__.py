"""Error pages: why each error is raised, and what to write.

A page is a file of this folder, named as its code.  docs/errors.md has them all, and the tests run what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from branded import errors
from branded.errors import BrandedError

__all__ = ["classes", "of", "page", "text"]

_FOLDER = Path(__file__).parent


def classes() -> dict[str, type[BrandedError]]:
    """Each code with its error, in the order of `branded.errors`."""
    found = (x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, BrandedError))
    return {cls.code: cls for cls in found if cls.code}


def of(word: str) -> str | None:
    """The code that somebody names: it itself, or the name of its error, `SizeError` or `branded.errors.SizeError`.

    It is also what mypy has for it: `brand-size`, and `truthy-bool` for a read that asks for the truth.
    """
    wanted = word.strip().rpartition(".")[2].lower().removeprefix("brand-").replace("truthy-bool", "read")
    return next((code for code, cls in classes().items() if wanted in (code, cls.__name__.lower())), None)


def page(code: str) -> str:
    """The page of a code, in Markdown; its first line says in one sentence what is wrong."""
    return (_FOLDER / f"{code}.md").read_text(encoding="utf-8")


def text(code: str) -> str:
    """The page as a terminal shows it.

    Example:
        >>> from branded.learn import why
        >>> print(why.text("size").split("\\n")[0])
        size (SizeError): Two mapped arguments of one brand have different sizes.
    """
    return f"{code} ({classes()[code].__name__}): " + "\n".join(_plain(page(code)))


def _plain(markdown: str) -> Iterator[str]:
    """Programs moved in, links by their words."""
    inside = False
    for line in markdown.rstrip().split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield f"    {line}"
        else:
            yield re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).replace("**", "")
