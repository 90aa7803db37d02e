"""Small faults put into the package, one at a time: do the tests see them?  `make mutants ARGS="--sample 200"`.

Each mutant is the package with one expression or statement changed, in a copy of the checkout.  It is run against the
tests that reach its function, the quickest first, in a fork of a process that has imported tinygrad but not branded.
Which tests reach which function is found out once, and again for a file of tests that has changed.  A mutant that no
test can tell from the original stands in tests/mutants_equal.toml, with the reason.  The program fails when another
one survives.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import hashlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EQUAL = ROOT / "tests" / "mutants_equal.toml"
BUILD = ROOT / "build" / "mutants"
PLUGIN = "branded/mypy/"
PLUGIN_WORDS = ("tests/test_types.py", "-k", "test_program or word_for_word")
SOURCES = (
    *(
        "graph.py",
        "scope.py",
        "rows.py",
        "primitive.py",
        "dispatch.py",
        "crossing.py",
        "brand.py",
        "vmap.py",
    ),
    *("tree", "rules", "derivatives", "loops", "runner", "transforms", "mypy"),
    *(f"patches/{name}.py" for name in ("reads", "writes", "shapes", "gradient", "function", "operands", "rand")),
)
SLOW = (
    "brandbugs cc checkers cli command conformance course demo docs edit examples explain gallery golden interrupts"
    " jaxfuzz killed laws leaks methods models mutants page pictures puzzles random_keys reference site static threads"
    " transform_laws types types_law workers"
)
"""Files of tests that take long, or look at the package from another process: no mutant is run against them."""
BUDGET, LIMIT = 8.0, 60.0
"""Seconds of tests for each mutant, as they were measured; and how long they may take beyond five times that."""
FAILED, NONE_THERE = 1, 5

# ---- the mutants of a file ----

Key = tuple[str, str, str, str]


class Mutant(NamedTuple):
    file: str
    function: str
    was: str
    now: str
    line: int
    number: int
    """Which of the mutants of its file it is."""

    @property
    def key(self) -> Key:
        return self[:4]


COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
CALLED = {"all": "any", "any": "all", "min": "max", "max": "min"}
UNWRAPPED = {"sorted", "reversed"}
AS_GIVEN = {"cast", "isinstance", "getattr", "rule", "tangent"}
"""Functions whose arguments are not swapped: other ones of the two would be no like mistake, or the same."""


def expressions(e: ast.expr, is_test: bool) -> Iterator[ast.expr]:
    """What may stand in the place of an expression."""
    match e:
        case ast.Compare(left, [op], right):
            yield ast.Compare(left, [COMPARED[type(op)]()], right)
        case ast.Constant(bool(x)):
            yield ast.Constant(not x)
        case ast.Constant(int(x) | float(x)):
            yield ast.Constant(x + 1)
        case ast.BoolOp(op, [*parts]):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), parts)
            for i in range(len(parts)):
                rest = parts[:i] + parts[i + 1 :]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not(), x):
            yield x
        case ast.UnaryOp(ast.USub(), x):
            yield x
        case ast.BinOp(left, ast.BitOr(), right):
            yield from (left, right)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED and not isinstance(left, ast.Constant | ast.JoinedStr):
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call(f, args, keywords):
            name = f.id if isinstance(f, ast.Name) else ""
            if name in CALLED:
                yield ast.Call(ast.Name(CALLED[name]), args, keywords)
            if name in UNWRAPPED and len(args) == 1:
                yield args[0]
            for i, (a, b) in enumerate(itertools.pairwise(args)):
                if type(a) is type(b) and ast.dump(a) != ast.dump(b) and name not in AS_GIVEN:
                    yield ast.Call(f, [*args[:i], b, a, *args[i + 2 :]], keywords)
            for i, k in enumerate(keywords):
                if k.arg not in ("strict", "fix"):
                    yield ast.Call(f, args, keywords[:i] + keywords[i + 1 :])
    if is_test and not isinstance(e, ast.UnaryOp | ast.Compare):
        yield ast.UnaryOp(ast.Not(), e)


def statements(s: ast.stmt) -> Iterator[ast.stmt]:
    """What may stand in the place of a statement."""
    match s:
        case ast.Return(ast.expr() as x) if not isinstance(x, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Constant()):
            return  # a docstring
        case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.Expr() | ast.AugAssign():
            yield ast.Pass()
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()


def header(s: ast.stmt) -> str:
    """A statement without the statements in it."""
    empty = {
        f: [ast.Pass()] if f == "body" else [] for f in ("body", "orelse", "handlers", "finalbody") if hasattr(s, f)
    }
    if isinstance(s, ast.Match):
        empty = {"cases": [ast.match_case(c.pattern, c.guard, [ast.Pass()]) for c in s.cases]}
    new = type(s)(**{**dict(ast.iter_fields(s)), **empty})
    text = ast.unparse(ast.fix_missing_locations(ast.copy_location(new, s)))
    return re.sub(r"\n\s*pass$", "", text) if empty else text


def is_beside(s: ast.AST, function: str) -> bool:
    """Is it there for type checkers alone, or a check of ours that a right program never needs?"""
    match s:
        case ast.keyword("strict"):
            return True
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.Import() | ast.ImportFrom() | ast.Assign([ast.Name("__all__")]):
            return True
        case ast.FunctionDef(decorator_list=[ast.Name("overload"), *_]):
            return True
        case ast.Assign([ast.Name()], ast.Subscript() | ast.BinOp() | ast.Call(ast.Name("TypeVar" | "ParamSpec"))):
            return not function
    return False


def mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order in which they stand there."""
    return _mutants(file, source, None)[0]


def mutated(m: Mutant, source: str) -> str:
    """The file with the mutant in it."""
    return _mutants(m.file, source, m.number)[1]


def _mutants(file: str, source: str, wanted: int | None) -> tuple[list[Mutant], str]:
    tree = ast.parse(source)
    found: list[Mutant] = []
    text = ""

    def note(slot: Any, key: Any, old: ast.AST, new: ast.AST, function: str, around: ast.stmt) -> None:
        def put(x: ast.AST) -> None:
            if isinstance(slot, list):
                slot[key] = x
            else:
                setattr(slot, key, x)

        nonlocal text
        was = header(around) if wanted is None else ""
        put(ast.fix_missing_locations(ast.copy_location(new, old)))
        now = "" if wanted is not None else ast.unparse(new) if isinstance(old, ast.stmt) else header(around)
        if wanted == len(found):
            text = ast.unparse(tree)
        found.append(Mutant(file, function, was, now, around.lineno, len(found)))
        put(old)

    def visit(node: ast.AST, function: str, around: ast.stmt | None) -> None:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            many = isinstance(value, list)
            for i, child in enumerate(value if many else [value]):
                if not isinstance(child, ast.AST) or is_beside(child, function):
                    continue
                slot, key = (value, i) if many else (node, field)
                inside, here = function, child if isinstance(child, ast.stmt) else around
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    inside = f"{function}.{child.name}" if function else child.name
                if isinstance(child, ast.stmt):
                    for new in statements(child):
                        note(slot, key, child, new, function, child)
                elif isinstance(child, ast.expr) and here is not None:
                    is_test = field in ("test", "ifs")
                    for e in expressions(child, is_test and not isinstance(node, ast.IfExp | ast.Assert)):
                        note(slot, key, child, e, function, here)
                visit(child, inside, here)

    visit(tree, "", None)
    return found, text


def files() -> dict[str, str]:
    """The files that are mutated, with their text."""
    paths = [
        p
        for s in SOURCES
        for p in ([ROOT / "branded" / s] if s.endswith(".py") else (ROOT / "branded" / s).glob("*.py"))
    ]
    return {str(p.relative_to(ROOT)): p.read_text() for p in sorted(paths) if p.name != "__init__.py"}


def equal() -> dict[Key, str]:
    """The mutants that are known to do what the original does, and why."""
    return {(e["file"], e["function"], e["was"], e["now"]): e["why"] for e in tomllib.loads(EQUAL.read_text())["equal"]}


def sample(all_of: dict[str, list[Mutant]], n: int, seed: int) -> list[Mutant]:
    """So many mutants, of each file in proportion to how many it has, and at least three."""
    total = sum(map(len, all_of.values()))
    chosen = []
    for file, ms in all_of.items():
        k = min(len(ms), max(3, round(n * len(ms) / total)))
        chosen += random.Random(f"{seed} {file}").sample(ms, len(ms))[:k]  # a larger sample has the smaller one in it
    return chosen


# ---- running tests in a fork ----


class Copy:
    """A copy of the checkout, in which one file at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log = folder / "copy", folder / "log"
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.path / name)  # with its mode: one of them is a compiler
        compileall.compile_dir(self.path / "branded", quiet=2)

    def write(self, file: str, text: str) -> None:
        path = self.path / file
        path.write_text(text)
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            old.unlink()  # a file of the same size and second would be taken for the one that is compiled

    def run(self, tests: list[str], limit: float | None, plugin: Any = None) -> int | None:
        """The exit status of pytest, or None where it took too long."""
        pid = os.fork()
        if not pid:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
            os.chdir(self.path)
            sys.path[:] = [str(self.path), *(p for p in sys.path if p and Path(p) not in (ROOT, ROOT / "stubs"))]
            os.environ |= {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os._exit(_child(tests, plugin))
        end = None if limit is None else time.monotonic() + limit
        while not (done := os.waitpid(pid, os.WNOHANG))[0]:
            if end is not None and time.monotonic() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.02)
        return os.waitstatus_to_exitcode(done[1])


def _child(tests: list[str], plugin: Any) -> int:
    import pytest

    try:
        for name in [m for m in sys.modules if m == "tests" or m.startswith("tests.")]:
            del sys.modules[name]
        import branded
        import branded.mypy  # noqa: F401

        if tests[0] == PLUGIN_WORDS[0]:
            _mypy_here()
        words = [
            *([] if plugin else ["-x"]),
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--tb=short",
            "--hypothesis-seed=0",
        ]
        return int(pytest.main([*words, *tests], plugins=[plugin] if plugin else []))
    except BaseException as e:
        print("not imported:", repr(e))
        return FAILED


def _mypy_here() -> None:
    """Let the tests of types ask the mypy of this process, which keeps what it knows of all but the programs."""
    from mypy import api

    import branded.mypy
    from tests import test_types

    branded.mypy.__version__ = branded.mypy.plugin.VERSION = "a mutant"  # or mypy would forget all for each
    cache = BUILD / "mypy"
    programs = {p.stem for p in (*test_types.FILES, test_types.PEP695)}

    def ask(python: str, *words: str | Path) -> list[str]:
        for old in cache.glob("*/*"):
            if old.name.split(".")[0] in programs:
                old.unlink()
        config = ["--config-file", str(test_types.HERE / "mypy.ini"), "--cache-dir", str(cache), "--output", "json"]
        out, err, status = api.run([*config, "--no-sqlite-cache", *map(str, words)])
        assert status in (0, 1) and not err, out + err
        return out.splitlines()

    test_types._mypy = ask


class Reach:
    """A plugin of pytest that notes which functions a test calls, and how long it takes."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.found: dict[str, list[Any]] = {}

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        from _pytest.runner import runtestprotocol

        codes: set[Any] = set()
        add = codes.add

        def trace(frame: Any, event: str, arg: Any) -> None:
            add(frame.f_code)

        start = time.process_time()
        sys.settrace(trace)
        try:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        finally:
            sys.settrace(None)
        took = time.process_time() - start
        if all(r.passed for r in reports):
            here = f"{Path.cwd()}/"
            called = {
                f"{c.co_filename.removeprefix(here)} {name_of(c.co_qualname)}"
                for c in codes
                if c.co_filename.startswith(here + "branded")
            }
            # an example in a docstring is named by its line, which another mutant moves
            name = item.nodeid if item.nodeid.startswith("tests") else item.nodeid.split("::")[0]
            old = self.found.get(name, [0.0, []])
            self.found[name] = [old[0] + took, sorted({*old[1], *called})]
        return True

    def pytest_sessionfinish(self) -> None:
        self.out.write_text(json.dumps(self.found))


def name_of(qualname: str) -> str:
    """The name of a function as `mutants` has it: lambdas and comprehensions belong to what they stand in."""
    return re.sub(r"\.<locals>", "", re.sub(r"(\.<locals>)?\.<(?!locals)\w+>", "", qualname))


def reached(copy: Copy, wanted: list[str]) -> dict[str, list[Any]]:
    """Of each test, its seconds and the functions that it calls."""
    stored = BUILD / "reach.json"
    known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    tests: dict[str, list[Any]] = {}
    for name in wanted:
        mark = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        if known.get(name, {}).get("mark") != mark:
            print(f"which functions does {name} reach?", flush=True)
            out = BUILD / "reached.json"
            out.unlink(missing_ok=True)
            status = copy.run([name], None, Reach(out))
            if status not in (0, FAILED, NONE_THERE):
                raise SystemExit(f"{name} does not run without a mutant:\n{copy.log.read_text()}")
            known[name] = {"mark": mark, "tests": json.loads(out.read_text())}
            if status:
                print(f"  pytest gave {status}, {len(known[name]['tests'])} tests pass", flush=True)
            stored.write_text(json.dumps(known))
        tests |= known[name]["tests"]
    return tests


def chosen(m: Mutant, tests: dict[str, list[Any]]) -> tuple[list[str], float]:
    """The quickest tests that reach the mutant, and their seconds."""
    if m.file.startswith(PLUGIN):
        return list(PLUGIN_WORDS), 30.0
    there = {t: x for t, x in tests.items() if f"{m.file} {m.function}" in x[1]} if m.function else {}
    if not there:
        there = {t: x for t, x in tests.items() if any(f.startswith(m.file + " ") for f in x[1])}
    names, total = [], 0.0
    for t, (took, _) in sorted(there.items(), key=lambda item: (item[1][0], item[0])):
        if names and total + took > BUDGET:
            break
        names.append(t)
        total += took
    return names, total


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants ARGS=", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many mutants in all (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="", help="only files whose names have this in them, or one of a|b")
    parser.add_argument("--again", action="store_true", help="those that survived the last time, and no others")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    import mypy.api  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import tinygrad  # noqa: F401

    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return _run(Copy(Path(folder)), args)


def _run(copy: Copy, args: argparse.Namespace) -> int:
    slow = {f"test_{name}.py" for name in SLOW.split()}
    survivors = BUILD / "survivors.json"
    sources = files()
    all_of = {f: mutants(f, text) for f, text in sources.items()}
    if args.again:
        keys = {tuple(k) for k in json.loads(survivors.read_text())}
        ms = [m for ms in all_of.values() for m in ms if m.key in keys]
    else:
        ms = [m for m in sample(all_of, args.sample, args.seed) if re.search(args.files, m.file)]
    there = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests").glob("**/test_*.py")) if p.name not in slow]
    wanted = [f for f in (*there, *sources) if not f.startswith(PLUGIN)]
    tests = reached(copy, wanted) if any(not m.file.startswith(PLUGIN) for m in ms) else {}
    if any(m.file.startswith(PLUGIN) for m in ms) and copy.run(
        list(PLUGIN_WORDS), None
    ):  # fills the cache of mypy, too
        raise SystemExit(f"the tests of the plugin fail without a mutant:\n{copy.log.read_text()}")
    known, counts, alive = equal(), Counter[tuple[str, str]](), list[Mutant]()
    for m in ms:
        if m.key in known:
            counts[m.file, "equal"] += 1
            continue
        names, seconds = chosen(m, tests)
        copy.write(m.file, mutated(m, sources[m.file]))
        start = time.monotonic()
        status = copy.run(names, 5 * seconds + LIMIT) if names else 0
        copy.write(m.file, sources[m.file])
        verdict = "survived" if status == 0 else "timed out" if status is None else "killed"
        counts[m.file, verdict] += 1
        print(f"{verdict:9} {time.monotonic() - start:5.1f} s {m.file}:{m.line} {m.function}", flush=True)
        if status == 0:
            alive.append(m)
            print(f"    was: {m.was}\n    now: {m.now}", flush=True)
            survivors.write_text(json.dumps([m.key for m in alive]))
    survivors.write_text(json.dumps([m.key for m in alive]))
    print(table(counts))
    return FAILED if alive else 0


def table(counts: Counter[tuple[str, str]]) -> str:
    """Per file: how many were run, killed, are equal."""
    rows = ["| file | mutants | killed | equal | killed of the others |", "|---|---|---|---|---|"]

    def row(name: str, of: Callable[[str], int]) -> str:
        killed, same = of("killed") + of("timed out"), of("equal")
        n = killed + same + of("survived")
        share = f"{100 * killed / (n - same):.1f} %" if n > same else ""
        return f"| {name} | {n} | {killed} | {same} | {share} |"

    for file in sorted({f for f, _ in counts}):
        rows.append(row(f"`{file}`", lambda verdict, file=file: counts[file, verdict]))  # type: ignore[misc]
    rows.append(row("all", lambda verdict: sum(n for (_, v), n in counts.items() if v == verdict)))
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
