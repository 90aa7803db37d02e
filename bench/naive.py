"""Count the mistakes that types find in programs without batched types: `python -m bench.naive`.

The programs are in `tests/types/naive`; every signature has `Tensor`. `bench/naive.toml` has mistakes: a line of one of
them, and its replacement. A mistake is *found* by an error that the correct program does not have, *noted* by a note,
and *silent* otherwise. The table compares four ways to treat functions of `Tensor`:

- *look again*: check the body again with the types of the arguments, as the plugin does;
- *trust*: assume that the result varies over the brands of all arguments, as for `lift(f)`, and skip the body;
- *@lift*: decorate each function of tensors except methods with `lift`, and reject batched arguments of the others;
- *refuse*: a `Tensor` never varies, as in files that import `Vec`.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from branded.mypy.analysis.plain_functions import Instances
from branded.mypy.check import check

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "tests" / "types" / "naive"
_PLACE = re.compile(r"^(?:.*/)?(?P<file>\w+)\.py:\d+: (?P<note>note: )?(?P<text>.*)$")


def trusted(self: Instances, f: Any, types: Any, result: Any, *rest: Any) -> Any:
    return result


def refused(self: Instances, ctx: Any, node: Any) -> None:
    return None


WAYS: dict[str, dict[str, Callable[..., Any]]] = {
    "look again": {},
    "trust": {"_result": trusted},
    "@lift": {"called": refused},
    "refuse": {"called": refused},
}


@contextmanager
def way(name: str) -> Iterator[None]:
    """The plugin with functions treated so."""
    with ExitStack() as stack:
        for method, own in WAYS[name].items():
            stack.enter_context(patch.object(Instances, method, own))
        yield


def decorated(text: str) -> str:
    """A program with `@lift` above each function of tensors."""
    tree, lines = ast.parse(text), text.splitlines()
    methods = {f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    for f in sorted((f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)), key=lambda f: -f.lineno):
        if f not in methods and any(a.annotation and "Tensor" in ast.unparse(a.annotation) for a in f.args.args):
            lines.insert(f.lineno - 1, " " * f.col_offset + "@lift")
    imports = [s.end_lineno or 0 for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    lines.insert(imports[-1], "from branded import lift")
    return "\n".join(lines) + "\n"


def said(programs: dict[str, str], cache: Path) -> dict[str, set[str]]:
    """Return mypy's messages for each program, without their positions."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs.items():
            Path(folder, f"{name}.py").write_text(text)
        out, _ = check(["--cache-dir", str(cache), "--strict", folder])
    found: dict[str, set[str]] = {name: set() for name in programs}
    for line in out.splitlines():
        if (m := _PLACE.match(line)) and m["file"] in programs:
            found[m["file"]].add(("note: " if m["note"] else "") + m["text"])
    return found


def measure(name: str, cache: Path) -> tuple[int, Counter[str], list[str]]:
    """Return the number of clean programs, the outcome of each mistake, and the silent mistakes."""
    right = {p.stem: p.read_text() for p in sorted(PROGRAMS.glob("*.py"))}
    wrong, of = {}, {}
    for i, m in enumerate(tomllib.loads((HERE / "naive.toml").read_text())["mistakes"]):
        text = right[m["file"]]
        assert text.count(m["right"]) == 1, m
        wrong[f"m{i:02}"], of[f"m{i:02}"] = text.replace(m["right"], m["wrong"]), m
    programs = {**right, **wrong}
    if name == "@lift":
        programs = {key: decorated(text) for key, text in programs.items()}
    with way(name):
        told = said(programs, cache)
    kinds: Counter[str] = Counter()
    silent = []
    for key, m in of.items():
        new = told[key] - told[m["file"]]
        kind = "silent" if not new else "noted" if all(t.startswith("note: ") for t in new) else "found"
        kinds[kind] += 1
        silent += [f"{m['file']}: {m['wrong']}"] if kind == "silent" else []
    clean = sum(all(t.startswith("note: ") for t in told[name]) for name in right)
    return clean, kinds, silent


def main() -> int:
    of = len(list(PROGRAMS.glob("*.py")))
    print(f"| way | programs clean, of {of} | found | noted | silent |\n|---|---|---|---|---|")
    silent: list[str] = []
    for name in WAYS:
        with tempfile.TemporaryDirectory() as cache:
            clean, kinds, missed = measure(name, Path(cache))
        silent = silent or missed
        print(f"| {name} | {clean} | {kinds['found']} | {kinds['noted']} | {kinds['silent']} |", flush=True)
    print("\nSilent where bodies are looked at again:", *silent, sep="\n- ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
