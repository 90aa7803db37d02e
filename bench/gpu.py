"""`python -m bench gpu`: everything that is asked of a GPU, in a few minutes, and the page `bench/GPU.md`.

Each step is a process of its own with a limit of time.  One that fails or is stopped leaves the lines that it has
printed, and the others run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
CANDIDATES = ("CUDA", "CUDA:PTX", "CUDA:NVCC", "NV")
"""The values of DEV that are tried in turn: by nvrtc, by the driver alone, by nvcc, without CUDA."""
FIRST = "import branded; from tinygrad import Tensor; print(branded.vmap(lambda x: x * 2 + 1)(Tensor([1, 2])).tolist())"
EACH = 20.0
"""Seconds after which one program is given up."""
SHORTEST, LATE = 5.0, 2.0
"""The seconds that a step has at least, and those that it has to stop by itself."""


class Step(NamedTuple):
    """A part of the page: its title, its share of the time, and the processes that run at the same time for it.

    A part that is one table has the title of the table.
    """

    title: str
    share: float
    parts: tuple[tuple[str, ...], ...]


LAWS = tuple((kind, str(i)) for kind in ("laws", "table") for i in range(2))
STEPS = {
    "machine": Step("", 0.05, (("machine",),)),
    "demo": Step("Demo", 0.18, (("demo",),)),
    "laws": Step("The laws", 0.24, LAWS),
    "replay": Step("", 0.25, (("replay",),)),
    "jax": Step("", 0.28, (("jax",),)),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench gpu",
        description="The demo, the laws on generated programs and on the table of conformance, vmap against batching "
        "by hand, and programs under jit against jax.jit, on one GPU.",
    )
    parser.add_argument("--device", help=f"the value of DEV (default: the first that works of {', '.join(CANDIDATES)})")
    parser.add_argument("--seconds", type=float, default=330.0, help="how long all steps may take (default 330)")
    parser.add_argument("--only", choices=STEPS, action="append", help="this step; may be given several times")
    parser.add_argument("--commit", help="the commit, if this folder is not a checkout")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "GPU.md", help="the page (default: %(default)s)")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.part:
        PARTS[options.part[0]](time.monotonic() + options.seconds, *options.part[1:])
        sys.stdout.flush()
        os._exit(0)  # nothing remains to be cleaned up
    with tempfile.TemporaryDirectory() as folder:
        _all(options, Path(folder))
    return


def _all(options: argparse.Namespace, folder: Path) -> None:
    """Run the steps and rewrite the page after each, so that a run that is stopped leaves its results."""
    end = time.monotonic() + options.seconds
    env = _environment(folder)
    page = ["# On a GPU", "", f"`python -m bench gpu`, {datetime.now(UTC):%Y-%m-%d}, commit {_commit(options.commit)}."]
    device, tried = _device(options.device, env)
    _write(options.out, page, [*tried, ""] if tried else [])
    if device is None:
        return
    left = sum(STEPS[name].share for name in options.only or STEPS)
    for name in options.only or STEPS:
        step = STEPS[name]
        seconds = max(SHORTEST, (end - time.monotonic()) * step.share / left)
        left -= step.share
        start = time.monotonic()
        lines = _ran(step, seconds, {**env, "DEV": device}, folder)
        title = ["", f"## {step.title}", ""] if step.title else []
        _write(options.out, page, [*title, *lines, "", f"({time.monotonic() - start:.0f} s)"])


def _write(out: Path, page: list[str], lines: Sequence[str]) -> None:
    print(*lines, sep="\n", flush=True)
    page += lines
    out.write_text("\n".join(page) + "\n", encoding="utf-8")


def _commit(given: str | None) -> str:
    if given is None:
        with contextlib.suppress(OSError):
            words = ["git", "rev-parse", "--short", "HEAD"]
            given = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return given or "unknown"


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of the steps: this checkout, an empty cache, and full float32 precision also in JAX."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "CACHEDB": str(folder / "cache.db"),
        "NO_COLOR": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    }
    if "NVRTC_PATH" not in env and (found := _nvrtc()) is not None:
        env["NVRTC_PATH"] = str(found)
    return env


def _nvrtc() -> Path | None:
    """The library of the PyPI package, where the system has none."""
    if any(Path(p).glob("libnvrtc.so*") for p in ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib")):
        return None
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    return next((p for root in roots for p in sorted(Path(root).rglob("libnvrtc.so.*"))), None)


def _device(given: str | None, env: dict[str, str]) -> tuple[str | None, list[str]]:
    """The first value of DEV that computes, and a line for each that does not."""
    tried = []
    for device in [given] if given else CANDIDATES:
        words = [sys.executable, "-c", FIRST]
        try:
            done = subprocess.run(
                words, env={**env, "DEV": device}, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
            )
        except subprocess.TimeoutExpired:
            tried.append(f"- DEV={device}: stopped after 60 s")
            continue
        if done.stdout.strip() == "[3, 5]":
            return device, tried
        tried.append(f"- DEV={device}: {_last(done.stderr or done.stdout)}")
    return None, tried


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if re.search(r"\w", line)), "no output")[:200]


def _ran(step: Step, seconds: float, env: dict[str, str], folder: Path) -> list[str]:
    """The lines that the parts of a step have printed, until they ended or were stopped."""
    running = []
    for part in step.parts:
        out, errors = (folder / f"{'-'.join(part)}.{kind}" for kind in ("out", "errors"))
        words = [sys.executable, "-m", "bench.gpu", "--seconds", str(seconds - 3), "--part", *part]
        with out.open("w") as to, errors.open("w") as said:
            process = subprocess.Popen(words, cwd=ROOT, env=env, stdout=to, stderr=said, start_new_session=True)
        running.append((part, process, out, errors))
    lines, end = [], time.monotonic() + seconds + LATE
    for part, process, out, errors in running:
        try:
            status = process.wait(max(0.1, end - time.monotonic()))
            why = f"ended with status {status}: {_last(errors.read_text(errors='replace'))}" if status else ""
        except subprocess.TimeoutExpired:
            why = f"stopped after {seconds:.0f} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        lines += re.sub(r"\x1b\[[\d;]*m", "", out.read_text(errors="replace")).rstrip().splitlines()
        lines += ["", f"`{' '.join(part)}` {why}", ""] if why else []
    return lines


# ---- the parts, each in a process of its own ----


def _stop(*_: object) -> None:
    raise TimeoutError(f"stopped after {EACH} s")


def _each(what: str, items: Sequence[Any], run: Callable[[Any], Iterable[str] | None], end: float) -> None:
    """Run each item, as many as there is time for, and print how many were wrong: those for which `run` gives lines."""
    tried, wrong = 0, list[str]()
    signal.signal(signal.SIGALRM, _stop)
    for item in items:
        if (left := end - time.monotonic()) < 0:
            break
        name = getattr(item, "name", None) or " | ".join(str(item).splitlines())
        signal.setitimer(signal.ITIMER_REAL, min(EACH, left + 1))
        try:
            found = list(run(item) or ())
        except Exception as error:
            if left < EACH and isinstance(error, TimeoutError):
                break
            found = [f"{type(error).__name__}: {error}"]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        tried += 1
        wrong += [f"{name}: {' '.join(line.split())[:300]}" for line in found]
    print(f"- {what}: {tried} of {len(items)} tried, {len(wrong)} wrong", *(f"  - {w}" for w in wrong), sep="\n")


def machine(end: float) -> None:
    from bench.measure import machine

    if shutil.which("nvidia-smi"):
        asked = "--query-gpu=name,driver_version,memory.total"
        words = ["nvidia-smi", asked, "--format=csv,noheader"]
        print(f"- GPU: {subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()}")
    print(*machine(), sep="\n")


SHOWN = re.compile(r"as fast|same values|held-out accuracy|times, on |The demo took")
"""The lines of the demo that the page has."""


def demo(end: float) -> None:
    """In full where there is time for it."""
    from branded.learn import demo

    out = io.StringIO()
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            if end - time.monotonic() > 30:
                demo.run(Path(folder))
            else:
                demo.draw = lambda *_: None
                demo.run(Path(folder), demo.Sizes(digits=90, part=5, steps=3, networks=2, epochs=1, held_out=30))
    finally:
        lines = [line.strip() for line in out.getvalue().splitlines() if SHOWN.search(line)]
        print("```text", *lines, "```", sep="\n", flush=True)


def laws(end: float, shard: str) -> None:
    """vmap equals the loop, by the kernels of the device against numpy, on generated programs."""
    import numpy as np
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from tinygrad import Context, Tensor

    from tests.support.programs import Nest, nests

    programs: list[Nest] = []
    quiet = settings(max_examples=40, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
    seed(int(shard))(quiet(given(nests(max_depth=2, max_steps=8))(lambda nest: programs.append(nest))))()

    def compare(nest: Nest) -> None:
        data = nest.data()
        found = nest.mapped()(*map(Tensor, nest.arguments(data)))
        Tensor.realize(*found)
        for got, wanted in zip(found, nest.loop(data), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-4, atol=2e-4)

    with Context(PARALLEL=0):
        _each(f"generated programs, seed {shard}", programs, compare, end)


def table(end: float, shard: str) -> None:
    """Check that the kernels of the device agree with numpy on a sample of the conformance table."""
    from tests.conformance.law import check_kernels
    from tests.conformance.test_conformance import COMPILED

    cases = COMPILED[int(shard) :: 2]
    random.Random(0).shuffle(cases)
    _each(f"cases of the table of conformance, half {shard}", cases, check_kernels, end)


def replay(end: float) -> None:
    from bench import replay
    from bench.measure import Report
    from bench.workloads import WORKLOADS, Workload

    ratios: list[float] = []
    row = Report().table("vmap against batching by hand, both under TinyJit", *replay.COLUMNS)
    seconds = min(1.0, (end - time.monotonic()) / 60)

    def compare(w: Workload) -> None:
        cells = replay.compared(w, seconds)
        ratios.append(cells[3])
        row(w.name, *cells)

    _each("workloads", WORKLOADS, compare, end)
    print(f"\n`ratio`: time of vmap over time of the batching by hand, median over rounds; {_median(ratios)}.")


def jax(end: float) -> None:
    from bench.against.applications import APPLICATIONS
    from bench.against.libraries import LIBRARIES, installed
    from bench.against.programs import PROGRAMS, Program
    from bench.against.steady import measured
    from bench.measure import Report

    ratios: list[float] = []
    libraries = {name: LIBRARIES[name]() for name in installed()}
    row = Report().table("Programs, against jax.jit", "program", "here ms", "jax ms", "vs jax")
    seconds = min(0.5, (end - time.monotonic()) / 120)

    def compare(p: Program) -> None:
        found = measured(p, libraries, seconds, time.perf_counter)
        here, there, ratio = found["seconds"]["here"], found["seconds"].get("jax"), found["ratio"].get("jax")
        row(p.name, here * 1e3, there and there * 1e3, ratio)
        ratios.extend([] if ratio is None else [ratio])

    _each("programs", (*PROGRAMS, *APPLICATIONS), compare, end)
    print(f"\n`vs jax`: the median over rounds of the time of `branded.jit` over `jax.jit`; {_median(ratios)}.")
    if "jax" in libraries:
        kind = libraries["jax"].jax.devices()[0]
        print(f"jax {libraries['jax'].version} on {kind.platform} ({kind.device_kind}), float32 at full precision.")
    else:
        print("There is no jax here.")


def _median(ratios: Sequence[float]) -> str:
    return f"median of {len(ratios)}: {median(ratios):.3f}" if ratios else "there is none"


PARTS: dict[str, Callable[..., None]] = {
    "machine": machine,
    "demo": demo,
    "laws": laws,
    "table": table,
    "replay": replay,
    "jax": jax,
}

if __name__ == "__main__":
    main()
