"""Record the results of other libraries for the gallery: `python -m tests.gallery.record [LIBRARY...]`.

Run it where the libraries are installed.  Only `pyright` needs branded, since it checks our programs.  Without
arguments, all are recorded; otherwise the others keep their recorded results.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.gallery.programs import HERE, PEERS, RECORDED, SIDES, run, shown


def main(peers: list[str]) -> None:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for peer in peers or [*PEERS, "pyright"]:
        outcomes = _pyright() if peer == "pyright" else _outcomes(peer)
        recorded[peer] = {"version": version(peer).split("+")[0], "outcomes": outcomes}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


def _outcomes(peer: str) -> dict[str, Any]:
    return {f.stem: run(shown(f))._asdict() for f in sorted((HERE / peer).glob("*.py"))}


def _pyright() -> dict[str, Any]:
    """Return the first line of each pyright error for our programs, as if each were app.py."""
    with TemporaryDirectory() as folder:
        sources = {f"{side}_{f.stem}": shown(f) for side in SIDES for f in sorted((HERE / side).glob("*.py"))}
        for name, source in sources.items():
            Path(folder, f"{name}.py").write_text(source)
        command = [str(Path(sys.executable).parent / "pyright"), f"--pythonpath={sys.executable}", folder]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    said = dict.fromkeys(sources, "")
    for name, line, message in re.findall(r"(\w+)\.py:(\d+):\d+ - error: (.*?)(?: \(report\w+\))?$", told, re.M):
        said[name] += f"app.py:{line}: {message}\n"
    return {name: {"source": sources[name], "error": said[name]} for name in sources}


if __name__ == "__main__":
    main(sys.argv[1:])
