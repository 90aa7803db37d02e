"""Show the hints of a puzzle one by one.  A file next to mypy's cache stores which hints were shown in each folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from branded.learn.puzzles import Puzzle
from branded.learn.puzzles.truth import own_cache


def turn(puzzle: Puzzle) -> int | None:
    """Return the index of the next hint; after the last hint, return the number of hints, and then start again at 0.

    Return None if the state cannot be stored.
    """
    try:
        file = own_cache() / "hints.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        kept = _load_hints(file)
        had = kept.setdefault(str(Path.cwd()), {})
        found = int(had.get(puzzle.title, 0))
        had[puzzle.title] = (found + 1) % (len(puzzle.hints) + 1)
        file.write_text(json.dumps(kept), encoding="utf-8")
    except (OSError, RuntimeError, TypeError, ValueError, AttributeError):  # no folder, or the file has another format
        return None
    return min(found, len(puzzle.hints))


def _load_hints(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
