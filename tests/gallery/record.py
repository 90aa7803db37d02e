"""Record what the peers do with their programs of the gallery: `python -m tests.gallery.record [PEER...]`.

Run it where the peers are installed; branded itself is not needed.  Those that are not named keep what was recorded.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

from tests.gallery.programs import HERE, PEERS, RECORDED, run, shown


def main(peers: list[str]) -> None:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for peer in peers or PEERS:
        outcomes = {f.stem: run(shown(f))._asdict() for f in sorted((HERE / peer).glob("*.py"))}
        recorded[peer] = {"version": version(peer).split("+")[0], "outcomes": outcomes}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
