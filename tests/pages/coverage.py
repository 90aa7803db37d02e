"""The table of branch coverage in docs/trust.md: `make coverage` measures and writes it.

    python -m tests.pages.coverage [TESTS]

Without arguments, the tests in `MEASURED` run.  `tests branded docs README.md` measures all of them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "trust.md"
FOLDERS = "autodiff collectives compile control_flow core errors nn optim tree"
MEASURED = [f"tests/{folder}" for folder in FOLDERS.split()]
SECTION = re.compile(r"(?<=^## Branch coverage\n\n).*?(?=^## )", re.MULTILINE | re.DOTALL)


def measure(words: list[str]) -> tuple[dict[str, dict[str, int]], str]:
    """Run pytest, and return the numbers of each folder of the package, and the last line of the run."""
    with tempfile.TemporaryDirectory() as folder:
        here = {**os.environ, "COVERAGE_FILE": str(Path(folder, "data"))}
        coverage = [sys.executable, "-m", "coverage"]
        tests = subprocess.run(
            [*coverage, "run", "-m", "pytest", "-n", "auto", "--dist", "worksteal", *words],
            cwd=ROOT,
            env=here,
            stdout=subprocess.PIPE,
            text=True,
        )
        print(tests.stdout)
        subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, env=here, check=True)
        report = Path(folder, "report.json")
        subprocess.run([*coverage, "json", "--quiet", "-o", report], cwd=ROOT, env=here, check=True)
        files = json.loads(report.read_text())["files"]
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, file in files.items():
        parts = Path(name).parts
        for key in KEYS:
            found[parts[1] if len(parts) > 2 else "top level"][key] += file["summary"][key]
    return found, tests.stdout.strip().splitlines()[-1]


def table(found: dict[str, dict[str, int]], words: list[str], last: str) -> str:
    """Return the section of the page."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = spent.ru_utime + spent.ru_stime
    passed, folders = re.search(r"\d+(?= passed)", last), ", ".join(f"`{word}`" for word in words)
    assert passed is not None, last
    when = f"{date.today():%-d %B %Y}, Python {platform.python_version()}, {seconds / 60:.0f} minutes of CPU time"
    introduction = (
        f"`make coverage` ran {int(passed[0]):,} tests in {folders} ({when}). The table has the share of statements and"
        " of branches that they run in the folders of these names. `make coverage ARGS='tests branded docs README.md'`"
        " measures all tests and all folders."
    )
    lines = [
        textwrap.fill(introduction, 120, break_long_words=False, break_on_hyphens=False),
        "",
        "| folder | statements | run | branches | taken |",
        "|---|--:|--:|--:|--:|",
    ]
    shown = {name: x for name, x in sorted(found.items()) if words != MEASURED or name in FOLDERS.split()}
    for name, x in [*shown.items(), ("**all of these**", {key: sum(x[key] for x in shown.values()) for key in KEYS})]:
        name = name if name[0] == "*" or " " in name else f"`{name}`"
        run, taken = (100 * x[a] / max(1, x[b]) for a, b in (KEYS[:2], KEYS[2:]))
        lines.append(f"| {name} | {x[KEYS[1]]:,} | {run:.0f} % | {x[KEYS[3]]:,} | {taken:.0f} % |")
    return "\n".join([*lines, "", ""])


KEYS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def main(words: list[str]) -> None:
    found, last = measure(words)
    text = table(found, words, last)
    PAGE.write_text(SECTION.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:] or MEASURED)
