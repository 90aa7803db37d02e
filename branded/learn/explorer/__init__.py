"""The explorer: a web page of explanations with a menu.

The page makes no network requests: it works from a file and from any static host.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from branded.errors import ExplorerError
from branded.explain.html import document
from branded.learn import why
from branded.learn.explorer import catalog, runtime

__all__ = ["write"]


def write(out: Path, pyodide: Path | None = None, *, edit: bool = True, site: str | None = None) -> Path:
    """Write the explorer to a folder: `index.html`, and in `edit/` the assets that run programs in the browser.

    Args:
        out: An existing folder.
        pyodide: The unpacked npm package `pyodide`.  None downloads it with npm; without npm, `edit` is omitted.
        edit: Whether programs can be edited.
        site: The URL of the documentation, for the link back.  None links to the parent folder if it contains the
            documentation, as after `make site`.

    Returns:
        The path of the page.

    Raises:
        ExplorerError: `pyodide` is not the supported version of the package, npm fails, or the page cannot be written.

    Example:
        >>> import tempfile
        >>> from branded.learn import explorer
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explorer.write(Path(folder), edit=False).name
        'index.html'
    """
    parts = None
    if edit and pyodide is not None:
        parts = runtime.write(out, pyodide)
    elif edit and runtime.npm() is None:
        print("explorer: without edit, because npm is not installed: pip install 'branded[explorer]'", file=sys.stderr)
    elif edit:
        with tempfile.TemporaryDirectory(prefix="branded-") as folder:
            parts = runtime.write(out, runtime.fetch(Path(folder)))
    index = out / "index.html"
    codes = {code: why.page_text(code) for code in why.classes()}
    back = site and f"{site.rstrip('/')}/"
    if site is None and (out.parent / "course" / "1-map-and-vmap.html").is_file():
        back = "../"
    try:
        index.write_text(document(catalog.load(), parts, codes, back), encoding="utf-8")
    except OSError as error:
        raise ExplorerError(f"explorer: cannot write {index}: {error.strerror}") from None
    return index
