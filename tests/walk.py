"""The functions that one example calls: `python -m tests.walk` writes them into docs/follow-one-example.md."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import FrameType

from tinygrad import Tensor

import branded
from branded import vmap

ROOT = Path(branded.__file__).parent
PAGE = ROOT.parent / "docs" / "follow-one-example.md"


def walk() -> list[tuple[str, str]]:
    """The functions of `vmap(lambda a, b: a + b)(x, y)`, by their files, in the order in which each is first called."""
    x, y = Tensor([1, 2, 3]), Tensor([4, 6, 8])
    calls: dict[tuple[str, str], None] = {}

    def seen(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT) and "<" not in frame.f_code.co_name:
            calls[path.relative_to(ROOT).as_posix(), frame.f_code.co_name] = None

    def program() -> Tensor:
        return vmap(lambda a, b: a + b)(x, y)

    program()  # what is found out once for all is known
    sys.setprofile(seen)
    try:
        program()
    finally:
        sys.setprofile(None)
    return [(file, name) for file, name in calls if not file.startswith(("tinygrad_compat/", "hooks/"))]


def text(calls: list[tuple[str, str]]) -> str:
    """A line for each change of file."""
    parts = [(file, [name for _, name in group]) for file, group in itertools.groupby(calls, lambda call: call[0])]
    return "\n".join(f"{file:<32} {' '.join(names)}" for file, names in parts)


def said() -> str:
    """The way as it stands on the page."""
    return PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0].strip()


if __name__ == "__main__":
    page, way = PAGE.read_text(encoding="utf-8"), text(walk())
    PAGE.write_text(page.partition("```text\n")[0] + f"```text\n{way}\n```\n", encoding="utf-8")
    print(way, f"{len(way.splitlines()) - 1} changes of file", sep="\n")
