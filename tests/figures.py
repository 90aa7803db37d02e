"""The table of speed in README and docs: `python -m tests.figures` writes it anew."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

ROOT = Path(__file__).parent.parent

SHOWN = {
    "x + 1 of 4 numbers": "`x + 1` of 4 numbers",
    "softmax, 2048 x 1024": "softmax, 2048 x 1024",
    "matmul, 1024³": "matmul, 1024³",
    "all pairs, 512² x 32": "distances of all pairs, 512² x 32",
    "per-example gradients, MLP of 256": "gradients of each example, MLP, 256",
    "attention, 8 x 8 x 256 x 64": "attention, 8 x 8 x 256 x 64",
    "32 RNNs of 128, 100 steps": "32 RNNs by `vmap`, 100 steps",
    "k-means, 16 starts, 300 points": "k-means, 16 starts",
}
"""The programs of bench/JAX.md that README shows, and how it names them: of each kind one."""


def _rows(table: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return {name: cells for name, *cells in lines}


def speeds() -> str:
    """The table of speed of the first pages, out of that which bench wrote."""
    calls, first = (_rows(part) for part in (ROOT / "bench/JAX.md").read_text(encoding="utf-8").split("\n## ")[1:3])
    lines = ["| | a call | the first call | the first, where a process before made it |", "|---|--:|--:|--:|"]
    told = {program: (calls[program][2], *first[program][-2:]) for program in SHOWN}
    lines += [f"| {SHOWN[program]} | {' | '.join(f'{float(x):.2f}' for x in row)} |" for program, row in told.items()]
    every = [[float(row[2]) for row in calls.values() if _is_number(row[2]) and row[0]]]
    every += [[float(row[i]) for row in first.values() if _is_number(row[i])] for i in (-2, -1)]
    middle = [f"**{statistics.median(column):.2f}**" for column in every]
    lines.append(f"| **median of {len(every[0])} programs** | {' | '.join(middle)} |")
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[\d.]+", text) is not None


_SPEEDS = re.compile(r"^\| \| a call \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def main() -> None:
    for page in (ROOT / "README.md", ROOT / "docs/index.md"):
        page.write_text(_SPEEDS.sub(lambda _: speeds(), page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
