"""The mistakes: our programs are run and shown to mypy now; what the peers do, and pyright says, was recorded."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from branded.mypy.check import check
from tests.gallery.programs import HERE, PEERS, RECORDED, SIDES, Outcome, agree, run, shown
from tests.support.warm import warm


class Kind(NamedTuple):
    """Mistakes of one kind, and what is to be said of them all."""

    name: str
    words: str
    mistakes: list[Mistake]


class Mistake(NamedTuple):
    """A mistake: its words, and what every program of it did."""

    words: dict[str, Any]
    wrong: Outcome
    right: Outcome
    peers: dict[str, Outcome]
    mypy: str
    """What `branded check` says of the wrong program as it is shown."""
    mypy_of_right: str
    pyright: str
    pyright_of_right: str

    @property
    def title(self) -> str:
        return str(self.words["title"])

    @property
    def slug(self) -> str:
        """Its address, which stays: `gallery/zip-for-outer.html`."""
        return str(self.words["file"]).replace("_", "-")

    @property
    def wanted(self) -> str:
        return str(self.words["wanted"])

    @property
    def is_found_by_mypy(self) -> bool:
        return re.search(r"^app\.py:\d+: (?!note: )", self.mypy, re.M) is not None

    @property
    def uses(self) -> list[str]:
        """The functions of ours that its programs call."""
        found = {name for outcome in (self.wrong, self.right) for name in _imported(outcome.source)}
        return sorted((x for x in found if x[0].islower()), key=lambda x: (x != "vmap", x))

    def verdict(self, outcome: Outcome | None) -> str:
        """What a program did, in a word or two."""
        if outcome is None:
            return "·"
        if outcome.error:
            return "error"
        if agree(outcome.printed, self.wanted):
            return "right"
        return "**wrong**, but warns" if outcome.warning else "**wrong**"


def _imported(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module == "branded":
            yield from (alias.name for alias in node.names)


def recorded() -> dict[str, Any]:
    """What the peers did, and pyright said: for each its version and its outcomes."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def kinds() -> list[Kind]:
    """All mistakes in the order of the page."""
    told = tomllib.loads((HERE / "words.toml").read_text())["kinds"]
    files = [words["file"] for kind in told for words in kind["mistakes"]]
    ours = {f"{side}_{file}": run(shown(HERE / side / f"{file}.py")) for file in files for side in SIDES}
    said = _mypy({name: outcome.source for name, outcome in ours.items()})
    record = recorded()

    def mistake(words: dict[str, Any]) -> Mistake:
        file = words["file"]
        wrong, right = (f"{side}_{file}" for side in SIDES)
        peers = {p: Outcome(**did[file]) for p in PEERS if file in (did := record[p]["outcomes"])}
        says = record["pyright"]["outcomes"]
        told = (said[wrong], said[right], says[wrong]["error"], says[right]["error"])
        return Mistake(words, ours[wrong], ours[right], peers, *told)

    return [Kind(kind["name"], kind["words"], [*map(mistake, kind["mistakes"])]) for kind in told]


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
