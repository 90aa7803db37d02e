"""Error pages: the cause of each error, and how to fix it.

A page is a file of this folder, named after the error code.  docs/errors.md contains all pages; the tests run their
examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from branded import errors
from branded.errors import BrandedError

__all__ = ["classes", "code_of", "page", "page_text"]

_FOLDER = Path(__file__).parent
TYPES_ONLY = """\
brand: An error of mypy that has no counterpart at run time.

The message of mypy says what is wrong, and its line `try` how to fix it.  All other codes of the plugin, such as
`brand-read`, are sub-codes of `brand`: `# type: ignore[brand]` silences all of them on one line."""
"""The page of the code `brand`, which is not the code of an error class."""


def classes() -> dict[str, type[BrandedError]]:
    """Return the error class of each code, in the order of `branded.errors`."""
    found = (x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, BrandedError))
    return {cls.code: cls for cls in found if cls.code}


def code_of(word: str) -> str | None:
    """Return the error code for a word, or None: `size` for `size`, `SizeError` and `branded.errors.SizeError`.

    A code of mypy is accepted too: `brand-size`, and `truthy-bool` for a read that needs a truth value.
    """
    wanted = word.strip().rpartition(".")[2].lower().removeprefix("brand-").replace("truthy-bool", "read")
    return next((code for code, cls in classes().items() if wanted in (code, cls.__name__.lower())), None)


def page(code: str) -> str:
    """Return the page of a code, in Markdown; its first line states the problem in one sentence."""
    return (_FOLDER / f"{code}.md").read_text(encoding="utf-8")


def page_text(code: str) -> str:
    """Return the page as plain text for a terminal.

    Example:
        >>> from branded.learn import why
        >>> print(why.page_text("size").split("\\n")[0])
        size (SizeError): Two mapped arguments have different batch sizes.
    """
    return f"{code} ({classes()[code].__name__}): " + "\n".join(_plain(page(code)))


def _plain(markdown: str) -> Iterator[str]:
    """Yield the lines of a page with programs indented, and links replaced by their texts."""
    inside = False
    for line in markdown.rstrip().split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield f"    {line}"
        else:
            yield re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).replace("**", "")
