"""Check the programs and the output of `python -m bench jax`, but no times."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from bench import gpu, trace
from bench.against import command, eager
from bench.against.applications import APPLICATIONS
from bench.against.fields import FIELDS
from bench.against.kinds import KINDS
from bench.against.libraries import Here
from bench.against.programs import PROGRAMS, Program
from bench.measure import Report, results
from branded import vmap

ROOT = Path(__file__).parents[2]
SHAPES = {
    "all pairs, 512² x 32": [(512, 512)],
    "per-example gradients, MLP of 256": [(256, 64, 128), (256, 128), (256, 128, 10)],
    "attention, 8 x 8 x 256 x 64": [(8, 8, 256, 64)],
    "Cholesky as a loop, 64 x 32²": [(64, 32, 32)],
    "32 RNNs of 128, 100 steps": [(32, 128)],
    "transformer block, one step": [(64, 64)] * 4 + [(64, 256), (256, 64)],
}


@pytest.mark.parametrize("p", [p for p in PROGRAMS if p.name in SHAPES], ids=lambda p: p.name)
def test_result_shapes(p: Program) -> None:
    m = Here()
    assert [y.shape for y in results(p.of(m)(*map(m.array, p.arrays())))] == SHAPES[p.name]


def _found(ms: float, cold: float) -> dict[str, Any]:
    times = {"seconds": {"here": ms / 1e3, "jax": 1e-3}, "best": {}, "spread": {"here": 0.5}, "ratio": {"jax": ms}}
    firsts = {
        n: {"cold": {"wall": 9.0, "cpu": c, "peak": 2e8}, "warm": {"wall": 8.0, "cpu": c / 4}}
        for n, c in (("here", cold), ("jax", 2.0))
    }
    beside = {"all": {"here": 2e-3, "torch": 4e-3, "ratio": 0.5}, "one": {"here": 3e-3, "torch": 5e-3, "ratio": 0.6}}
    row = times | {"share": 0.25, "first": firsts, "eager": beside}
    peak = {"flops": 1e11, "bytes": 1e10}
    versions = {"here": "1", "jax": "2"}
    machine = {"machine": ["- a", "- b"], "versions": versions, "clock": "cpu", "cores": 1, "peak": peak}
    return machine | {"programs": {"f": row}}


def _rows(report: Report) -> list[list[str]]:
    return [[c.strip() for c in line.split("|")[1:-1]] for line in report.lines if line.startswith("| f ")]


def test_tables() -> None:
    report = Report()
    command.show(report, _found(3.0, 4.0))
    assert _rows(report) == [
        ["f", "3.000", "1.000", "3.000", "0.250", "0.500"],
        ["f", "9.000", "8.000", "4.000", "1.000", "200", "2.000", "0.500", "200", "2.000", "0.500"],
        ["f", "2.000", "4.000", "0.500", "3.000", "5.000", "0.600"],
    ]


def test_compare_two_reports() -> None:
    report = Report()
    command.compare(report, _found(4.0, 4.0), _found(3.0, 1.0))
    assert _rows(report) == [["f", "4.000", "3.000", "0.750", "0.250", "0.250"]]


def test_collect() -> None:
    found = command.collect([p for p in PROGRAMS if p.name == "gather, 256 rows of 1000 x 64"], 0.01, "cpu", "steady")
    (row,) = found["programs"].values()
    assert row["seconds"]["here"] > 0 and row["share"] > 0
    with pytest.raises(SystemExit):
        command.main(["--only", "no such program"])


def test_process_of_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The process stores its results, prints the number of calls per round, and runs a round per line of input."""
    monkeypatch.setattr(sys, "stdin", ["\n", "\n"])
    eager.main(["here", "x + 1 of 4 numbers", str(tmp_path)])
    calls, *rounds = map(json.loads, capsys.readouterr().out.splitlines())
    assert calls >= 1 and [sorted(r) for r in rounds] == [["cpu", "wall"]] * 2 and all(r["wall"] > 0 for r in rounds)
    (kept,) = np.load(tmp_path / "here.npz").values()
    assert kept.shape == (4,)


def test_every_example_is_an_application() -> None:
    """Each example has a program here, and one with the same arguments and results in JAX."""
    functions = ast.parse((ROOT / "bench/against/in_jax.py").read_text()).body
    arguments = {f.name: len(f.args.args) for f in functions if isinstance(f, ast.FunctionDef)}
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert arguments.keys() == names - {"attention", "data_parallel", "recommender", "springs"}
    assert sorted(arguments.values()) == sorted(len(p.inputs) for p in APPLICATIONS)


@pytest.mark.parametrize(("name", "programs"), [("kinds", KINDS), ("fields", FIELDS)])
def test_programs_have_the_same_arguments_in_jax(name: str, programs: Sequence[Program]) -> None:
    functions = ast.parse((ROOT / f"bench/against/{name}_in_jax.py").read_text()).body
    arguments = [len(f.args.args) for f in functions if isinstance(f, ast.FunctionDef)]
    assert sorted(arguments) == sorted(len(p.inputs) for p in programs)


def test_edit_distances_are_a_metric() -> None:
    m, p = Here(), next(p for p in APPLICATIONS if p.name.startswith("edit distances"))
    (table,) = results(p.of(m)(*map(m.array, p.arrays())))
    assert table.shape == (16, 16) and (table == table.T).all().item() and table.max().item() <= 12


# ---- python -m bench gpu ----


def test_gpu_page_has_the_output_of_each_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a step that fails, and of a step that does not end."""
    program = "import sys; print('begun', flush=True); {}"
    broken, hung = (program.format(x) for x in ("sys.exit('no such kernel')", "import time; time.sleep(60)"))
    popen = subprocess.Popen
    instead = {"demo": broken, "jax": hung}

    def started(words: list[str], **options: Any) -> Any:
        return popen([words[0], "-c", instead[words[-1]]] if words[-1] in instead else words, **options)

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(gpu, "SHORTEST", 1.0)
    monkeypatch.setattr(gpu, "LATE", 0.5)
    gpu.main(
        ["--device", "CPU", "--seconds", "2", "--out", str(tmp_path / "GPU.md"), *["--only", "demo", "--only", "jax"]]
    )
    text = (tmp_path / "GPU.md").read_text()
    assert text.startswith("# On a GPU\n\n`python -m bench gpu`, ")
    assert "\n## Demo\n\nbegun\n\n`demo` ended with status 1: no such kernel\n" in text
    assert re.search(r"\nbegun\n\n`jax` stopped after \d+ s\n", text)


def test_failing_and_endless_gpu_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(what: str) -> list[str] | None:
        if what == "slow":
            time.sleep(10)
        return {"right": None, "wrong": ["1 is 2"], "raises": 1 / 0 if what == "raises" else []}.get(what)

    monkeypatch.setattr(gpu, "EACH", 0.2)
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    try:
        gpu._each("programs", ["right", "wrong", "raises", "slow"], run, time.monotonic() + 60)
    finally:
        signal.signal(signal.SIGALRM, before[0])
        signal.setitimer(signal.ITIMER_REAL, *before[1])
    assert capsys.readouterr().out.splitlines() == [
        "- programs: 4 of 4 tried, 3 wrong",
        "  - wrong: 1 is 2",
        "  - raises: ZeroDivisionError: division by zero",
        "  - slow: TimeoutError: stopped after 0.2 s",
    ]


def test_the_cost_of_hooks_is_measured_without_them() -> None:
    vmap(lambda x: x + 1)(Tensor([1.0]))  # the first call installs the changes
    ours = Tensor.dot
    with trace.without_hooks():
        plain = Tensor.dot
    assert plain is not ours is Tensor.dot
