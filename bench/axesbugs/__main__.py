"""Count the mistakes with axes that are found: `python -m bench.axesbugs [--jax PYTHON] [--markdown FILE]`.

`ours.py` and `jax.py` have the same programs, one per section, each with a mistake: `# bug: <code>` replaces the code
of its line. mypy with the plugin checks the correct and the wrong versions of ours. Both versions also run, ours in
branded and the others in JAX with jaxtyping and beartype, and either raise an error or return a result: once with 4
users, 3 items and 5 features, and once with 3 of each. An error in the correct version is a *false alarm*.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.brandbugs.__main__ import aligned, markdown, mypy, verdict, versions

HERE = Path(__file__).parent
SIZES = {"lengths differ": "U, N, F = 4, 3, 5", "lengths equal": "U, N, F = 3, 3, 3"}


def sections(library: str) -> dict[str, str]:
    """The programs of a library by name, each with the head of the file before it."""
    head, *rest = (HERE / f"{library}.py").read_text().split("\n# --- ")
    return {text.split("\n", 1)[0]: f"{head}\n{text.split(chr(10), 1)[1]}" for text in rest}


def typed(names: Sequence[str], programs: dict[str, str]) -> dict[str, str]:
    """Return the errors that mypy with the plugin reports for `ours.py`."""
    with tempfile.TemporaryDirectory() as folder:
        for version, i in (("right", 0), ("wrong", 1)):
            Path(folder, version).mkdir()
            for name in names:
                Path(folder, version, f"{name}_{version}.py").write_text(versions(programs[name])[i])
        errors = mypy(Path(folder), "ours")
    found = {n: verdict(errors.get(f"{n}_right", []), errors.get(f"{n}_wrong", [])) for n in names}
    return {n: "false alarm" if v.false_alarm else "found" if v.found else "missed" for n, v in found.items()}


RUN = """
import ast, json, sys
for text in json.load(sys.stdin):
    tree, names = ast.parse(text), {"__name__": "program"}
    last = ast.Expression(tree.body.pop().value)
    try:
        exec(compile(tree, "program", "exec", dont_inherit=True), names)
        result = eval(compile(last, "program", "eval", dont_inherit=True), names)
        getattr(result, "numpy", lambda: None)()  # tinygrad looks at shapes when a result is read
        print("silent")
    except Exception:
        print("stops")
"""
"""Runs programs, and says of each whether it stopped."""


def run(python: str, names: Sequence[str], programs: dict[str, str], sizes: str) -> dict[str, str]:
    """Whether each program stops when it runs."""
    pairs = [versions(programs[n].replace(SIZES["lengths differ"], SIZES[sizes])) for n in names]
    texts = json.dumps([text for pair in pairs for text in pair])
    done = subprocess.run([python, "-c", RUN], input=texts, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    said = done.stdout.split()
    return {
        n: "false alarm" if right == "stops" else "found" if wrong == "stops" else "missed"
        for n, right, wrong in zip(names, said[::2], said[1::2], strict=True)
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; not 0 where mypy with the plugin has a false alarm."""
    parser = argparse.ArgumentParser(prog="python -m bench.axesbugs")
    parser.add_argument("--jax", metavar="PYTHON", help="a Python that has jax, jaxtyping and beartype")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the table to a file too")
    options = parser.parse_args(argv)
    ours, theirs = sections("ours"), sections("jax")
    names = list(ours)
    columns = {"mypy with Axes, before it runs": typed(names, ours)}
    columns |= {f"branded, {sizes}": run(sys.executable, names, ours, sizes) for sizes in SIZES}
    if options.jax:
        needed = subprocess.run([options.jax, "-c", "import beartype, jax, jaxtyping"], check=False)
        if needed.returncode:
            return needed.returncode
        columns |= {f"jaxtyping, {sizes}": run(options.jax, names, theirs, sizes) for sizes in SIZES}
    totals = [["who", "found", "missed", "false alarms", "of"]]
    for who, said in columns.items():
        counts = [sum(s == what for s in said.values()) for what in ("found", "missed", "false alarm")]
        totals.append([who, *map(str, counts), str(len(names))])
    table = [["mistake", *columns], *([n.replace("_", " "), *(c[n] for c in columns.values())] for n in names)]
    print(*aligned(totals), "", *aligned(table), sep="\n")
    if options.markdown is not None:
        head = ["# Mistakes with axes that types and checks find", "", *(__doc__ or "").splitlines()[2:], ""]
        options.markdown.write_text("\n".join([*head, *markdown(totals), "", *markdown(table)]) + "\n")
    return int("false alarm" in next(iter(columns.values())).values())


if __name__ == "__main__":
    sys.exit(main())
