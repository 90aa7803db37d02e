"""Run tinygrad's own tests plain and after `import branded`: `make plain TINYGRAD_TESTS=FOLDER`.

FOLDER is the folder `test` of tinygrad at the tag of the installed version. By default, the few tests in tinygrad's
source archive on PyPI run. Each test must have the same outcome both times. A file with another outcome runs again, and
a difference counts only if it occurs both times. `tinygrad_tests.toml` has the outcomes of a plain run, file by file:
the number of tests that pass, and the names of the others. Differences from the table are printed; files that are not
in it are added, and `--record` replaces their entries.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from tests.plain.compare import ROOT, environment

TABLE = Path(__file__).with_name("tinygrad_tests.toml")
CHOSEN = ("*.py", "backend/*.py", "unit/*.py", "null/*.py")
LIMIT = 1800
"""A file that takes more seconds is killed."""
ENDED = "ended"
"""The outcome of the whole file if its process ends early."""
Outcomes = dict[str, str]
"""Outcomes by the name of the test in its file."""


def fetch(folder: Path) -> Path:
    """Download the source archive of the installed tinygrad, and return its folder of tests."""
    wanted = [f"tinygrad=={version('tinygrad')}", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz") / "test"


def files(tests: Path) -> list[str]:
    """Return the files of tests, relative to their folder."""
    found = sorted(p for pattern in CHOSEN for p in tests.glob(pattern) if p.name.startswith("test_"))
    return [str(p.relative_to(tests)) for p in found]


def link(tests: Path, folder: Path) -> Path:
    """Return a folder in which the tests are importable, but not a tinygrad next to them."""
    place = folder / "suite"
    place.mkdir()
    (place / "test").symlink_to(tests.resolve())
    for name in ("extra", "examples"):
        if (other := tests.resolve().parent / name).exists():
            (place / name).symlink_to(other)
    (place / "pytest.ini").write_text("[pytest]\n")
    return place


def run(file: str, place: Path, folder: Path, is_plain: bool) -> Outcomes:
    """Return the outcome of each test of a file."""
    handle, written = tempfile.mkstemp(dir=folder)
    os.close(handle)
    env = environment(folder) | {"OUTCOMES": written, "PYTHONPATH": os.pathsep.join((str(place), str(ROOT)))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ["-p", "tests.plain.outcomes", *(() if is_plain else ("-p", "branded"))]
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-c", "pytest.ini", f"test/{file}"]
    words = [sys.executable, "-P", "-m", "pytest", *plugins, *options]
    try:
        done = subprocess.run(words, cwd=place, env=env, capture_output=True, timeout=LIMIT, check=False)
        code = done.returncode
    except subprocess.TimeoutExpired:
        code = -1
    lines = [json.loads(line) for line in Path(written).read_text().splitlines()]
    found = {name.partition("::")[2]: outcome for name, outcome in lines}
    return found if code in (0, 1, 2, 5) else found | {"": ENDED}  # exit codes of pytest


def different(plain: Outcomes, ours: Outcomes) -> dict[str, tuple[str, str]]:
    """Return the tests with another outcome; one that did not run is `missing`."""
    pairs = {name: (plain.get(name, "missing"), ours.get(name, "missing")) for name in sorted({**plain, **ours})}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def check(file: str, place: Path, folder: Path) -> tuple[Outcomes, dict[str, tuple[str, str]]]:
    """Return the outcomes of a plain run, and the differences after the import that occur in two runs."""
    plain, ours = (run(file, place, folder, is_plain) for is_plain in (True, False))
    found = different(plain, ours)
    if found:
        again = different(*(run(file, place, folder, is_plain) for is_plain in (True, False)))
        found = {name: pair for name, pair in found.items() if again.get(name) == pair}
    return plain, found


def summary(outcomes: Outcomes) -> dict[str, object]:
    """Return an entry of the table: the number of tests that pass, and the names of others by their outcome."""
    others = sorted({o for o in outcomes.values() if o != "passed"})
    names = {o: sorted(name for name, outcome in outcomes.items() if outcome == o) for o in others}
    return {"passed": sum(o == "passed" for o in outcomes.values()), **names}


def read(table: Path) -> dict[str, dict[str, object]]:
    """Return the entries of the table by file, or none if it is about another version of tinygrad."""
    known = tomllib.loads(table.read_text()) if table.exists() else {}
    entries: dict[str, dict[str, object]] = known["files"] if known.get("tinygrad") == version("tinygrad") else {}
    return entries


def write(table: Path, entries: Mapping[str, Mapping[str, object]]) -> None:
    lines = ["# Outcomes of tinygrad's own tests without branded, written by `python -m tests.plain.suite`."]
    lines += [f'tinygrad = "{version("tinygrad")}"', "", "[files]"]
    for file, entry in sorted(entries.items()):
        values = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in entry.items())
        lines.append(f"{json.dumps(file)} = {{ {values} }}")
    table.write_text("\n".join(lines) + "\n")


def main(arguments: Sequence[str] | None = None, table: Path = TABLE) -> int:
    """Run the tests. The exit code is 1 if an outcome differs after the import."""
    parser = argparse.ArgumentParser(prog="make plain ARGS=", description=__doc__.splitlines()[0])
    tests = os.environ.get("TINYGRAD_TESTS")
    parser.add_argument(
        "--tests", type=Path, default=tests and Path(tests), help="default: the variable TINYGRAD_TESTS"
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="the files with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="files at the same time")
    parser.add_argument("--record", action="store_true", help="replace the entries of the table")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = args.tests or fetch(folder)
        chosen = [f for f in files(found) if args.only in f]
        if not chosen:
            parser.error(f"no file of tests in {found} has {args.only!r} in its name")
        place = link(found, folder)
        with ThreadPoolExecutor(args.jobs) as pool:
            results = dict(zip(chosen, pool.map(lambda file: check(file, place, folder), chosen), strict=True))
    known = read(table)
    if args.record:
        known |= {file: summary(plain) for file, (plain, _) in results.items()}
    count = 0
    for file, (plain, others) in results.items():
        entry = summary(plain)
        if known.setdefault(file, entry) != entry:
            print(f"{file}: plain {_text(entry)}; the table has {_text(known[file])}")
        for test, (without, with_import) in others.items():
            count += 1
            print(f"{file}::{test}: {without} plain, {with_import} after import branded")
    write(table, known)
    passed = sum(outcome == "passed" for plain, _ in results.values() for outcome in plain.values())
    print(
        f"{len(results)} files, {sum(len(p) for p, _ in results.values())} tests, {passed} pass plain, {count} differ"
    )
    return int(count > 0)


def _text(entry: Mapping[str, object]) -> str:
    return ", ".join(
        f"{v if isinstance(v, int) else len(v)} {k}" for k, v in entry.items() if isinstance(v, int | list)
    )


if __name__ == "__main__":
    sys.exit(main())
