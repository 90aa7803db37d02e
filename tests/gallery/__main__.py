"""Write the gallery of mistakes, docs/gallery.md and the pages in docs/gallery: `python -m tests.gallery`."""

from __future__ import annotations

from tests.gallery.mistakes import kinds
from tests.gallery.pages import FOLDER, pages


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    found = pages(kinds())
    for path in set(FOLDER.glob("*.md")) - set(found):
        path.unlink()
    for path, text in found.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
