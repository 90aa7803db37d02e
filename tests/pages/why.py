"""Write the page that explains the errors by their codes, docs/errors.md: `python -m tests.pages.why`."""

from __future__ import annotations

import re
from pathlib import Path

from branded.learn import why
from branded.mypy.codes import CODES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"
GALLERY = ROOT / "docs" / "gallery.md"

HEAD = """\
# Errors

Every error of `branded` has a stable code. A traceback ends with it:

```text
branded.errors.SizeError: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2
  left:  f32[3, 2], axis 0   (argument 1 of vmap at app.py:4)
  right: f32[2], axis 0   (argument 2)
  try:   in_axes=(None, 0) for 2 examples, or in_axes=(0, None) for 3 examples, or nest two vmaps for all pairs
  why:   python -m branded why size
```

The command prints the section of this page, offline. It also accepts the name of the error. Without an argument it
lists all errors. The address of a section is `errors.html#size`, and the class has the attribute `code`. The line `why`
is a note of the exception (`add_note`), so `str(error)` does not contain it.

mypy uses the same codes with the prefix `brand-`:

```text
app.py:6: item: a value that varies over "x" has no single value to read  [brand-read]
```

`# type: ignore[brand-read]` silences one line, and `python -m branded why brand-read` prints the page. A truth value
has mypy's own code `truthy-bool` where that check is enabled, as in `branded check`. Errors that exist only in types
have the code `brand`, the parent of the others.

Each section shows the shortest program with this error.

{table}
"""


def mistakes() -> dict[str, str]:
    """Return the pages of the gallery by their files, in its order."""
    files = re.findall(r"\]\((gallery/[\w-]+\.md)\)", GALLERY.read_text(encoding="utf-8"))
    return {file: (GALLERY.parent / file).read_text(encoding="utf-8") for file in files}


def section(code: str) -> str:
    """Return the section of a code: its error, its explanation, and the mistakes of the gallery that raise it."""
    name = why.classes()[code].__name__
    raises = {f: text for f, text in mistakes().items() if re.search(rf"^branded\.errors\.{name}: ", text, re.M)}
    seen = ", ".join(f"[{text.partition(chr(10))[0].removeprefix('# ')}]({file})" for file, text in raises.items())
    links = f"\nIn the gallery of mistakes: {seen}.\n" if seen else ""
    return f"## {code}\n\n`{name}`: {why.page(code)}{links}"


def _of_mypy(code: str) -> str:
    return f"`{CODES[code].code}`" if code in CODES else "-"


def text() -> str:
    """Return the page."""
    rows = [
        f"| [`{c}`](#{c}) | `{cls.__name__}` | {_of_mypy(c)} | {why.page(c).partition(chr(10))[0]} |"
        for c, cls in why.classes().items()
    ]
    table = "\n".join(["| code | error | mypy | |", "|---|---|---|---|", *rows])
    return "\n".join([HEAD.format(table=table), *map(section, why.classes())])


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
