"""The figures of README and docs that can be counted: `python -m tests.figures` counts them, and writes some anew.

What `import branded` changes in tinygrad is found by comparing two processes, one of which imports tinygrad alone.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent

_LOOK = """
import importlib, json, sys, types
KEPT = ("__dict__", "__weakref__", "__orig_bases__", "__annotations__", "__doc__", "__module__",
        "__firstlineno__", "__static_attributes__")
{first}
names = json.loads(sys.stdin.read()) or sorted(n for n in sys.modules if n.partition(".")[0] == "tinygrad")
def said(x):
    f = x.__func__ if isinstance(x, (staticmethod, classmethod)) else x.fget if isinstance(x, property) else x
    f = getattr(f, "func", f)
    if isinstance(f, types.FunctionType):
        return [f.__code__.co_filename, f.__code__.co_firstlineno, f.__code__.co_name]
    if type(x).__name__ == "PatternMatcher":
        return ["rules", len(x.patterns)]
    return [type(x).__module__, type(x).__name__]
def look():
    found = {{}}
    for name in names:
        for key, x in list(vars(importlib.import_module(name)).items()):
            if isinstance(x, types.FunctionType | types.BuiltinFunctionType) or type(x).__name__ == "PatternMatcher":
                found[name + ":" + key] = said(x)
            if isinstance(x, type):
                found[name + ":" + key] = [x.__module__, x.__qualname__]
                own = vars(x).items() if x.__module__ == name else ()
                for k, v in [(k, v) for k, v in own if k not in KEPT]:
                    found[name + ":" + x.__qualname__ + "." + k] = said(v)
    return found
print(json.dumps([names, {look}]))
"""


def _look(first: str, names: list[str] | None = None, look: str = "look()") -> tuple[list[str], dict[str, Any]]:
    program = _LOOK.format(first=first, look=look)
    run = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(names), cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules, found = json.loads(run.stdout.splitlines()[-1])
    return modules, found


class Changes(NamedTuple):
    """What differs from tinygrad alone: attributes of Tensor, also while a program is written down, and the rest."""

    tensor: list[str]
    writing: list[str]
    others: list[str]


def changes() -> Changes:
    """The names in tinygrad that `import branded` gives another value."""
    modules, ours = _look("import branded")
    _, plain = _look("import tinygrad", modules)
    _, writing = _look("from branded.ir.operators import watched", modules, "watched(look)")
    differ = [{k for k in now.keys() | plain.keys() if now.get(k) != plain.get(k)} for now in (ours, writing)]
    tensor, writing_tensor = (sorted(k.removeprefix(_TENSOR) for k in d if k.startswith(_TENSOR)) for d in differ)
    # a class that is another one is one name, and so is a function that two modules have
    rest = [k for k in differ[0] if not k.startswith(_TENSOR) and k.rpartition(".")[0] not in differ[0]]
    return Changes(tensor, writing_tensor, sorted({k.partition(":")[2] for k in rest}))


_TENSOR = "tinygrad.tensor:Tensor."


def sentence(found: Changes) -> str:
    """What README says of it."""
    return (
        f"`import branded` changes {len(found.tensor)} attributes of `Tensor` (`numpy`, `assign`, `__bool__`, …), "
        f"{len(found.writing)} while a program is written down, and {len(found.others)} other functions, methods and "
        "tables of tinygrad"
    )


_SENTENCE = re.compile(re.sub(r"\d+", r"\\d+", re.escape(sentence(Changes([], [], []))).replace(r"\ ", r"\s+")))


def said() -> str:
    """The sentence as it stands in README, on one line."""
    found = _SENTENCE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    return "" if found is None else " ".join(found[0].split())


# ---- speed beside JAX ----

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
    """Count again, and put the numbers into README."""
    found, readme = changes(), ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    numbers = iter(map(len, found))
    now = _SENTENCE.sub(lambda m: re.sub(r"\d+", lambda _: str(next(numbers)), m[0]), text)
    readme.write_text(now, encoding="utf-8")
    for page in (readme, ROOT / "docs/index.md"):
        page.write_text(_SPEEDS.sub(lambda _: speeds(), page.read_text(encoding="utf-8")), encoding="utf-8")
    print(sentence(found), *found.tensor, *found.others, sep="\n")


if __name__ == "__main__":
    main()
