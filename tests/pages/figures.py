"""Update the speed table of README and docs: `python -m tests.pages.figures`."""

from __future__ import annotations

import re
import statistics
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

ROOT = Path(__file__).parents[2]

SHOWN = {
    "matmul, 1024³": "matmul, 1024³",
    "per-example gradients, MLP of 256": "per-example gradients, MLP, 256",
    "attention, 8 x 8 x 256 x 64": "attention, 8 x 8 x 256 x 64",
}
"""The programs of bench/JAX.md in the table, and their names there."""


def _rows(table: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return {name: cells for name, *cells in lines}


def speeds() -> str:
    """Return the speed table of README and docs/index.md, computed from bench/JAX.md."""
    calls, first = (_rows(part) for part in (ROOT / "bench/JAX.md").read_text(encoding="utf-8").split("\n## ")[1:3])
    lines = ["| | a call | first call | first call, warm disk cache |", "|---|--:|--:|--:|"]
    ratios = {program: (calls[program][2], *first[program][-2:]) for program in SHOWN}
    lines += [f"| {SHOWN[program]} | {' | '.join(map(_rounded, row))} |" for program, row in ratios.items()]
    every = [[row[2] for row in calls.values() if _is_number(row[2]) and row[0]]]
    every += [[row[i] for row in first.values() if _is_number(row[i])] for i in (-2, -1)]
    middle = [f"**{_rounded(statistics.median(map(Decimal, column)))}**" for column in every]
    lines.append(f"| **median of {len(every[0])} programs** | {' | '.join(middle)} |")
    return "\n".join(lines)


def _rounded(ratio: str | Decimal) -> str:
    """Round to two places, ties away from zero, as a reader of bench/JAX.md would."""
    return str(Decimal(ratio).quantize(Decimal("0.01"), ROUND_HALF_UP))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[\d.]+", text) is not None


_SPEEDS = re.compile(r"^\| \| a call \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def main() -> None:
    for page in (ROOT / "README.md", ROOT / "docs/index.md"):
        page.write_text(_SPEEDS.sub(lambda _: speeds(), page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
