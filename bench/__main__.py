"""`python -m bench`: the figures of the performance page, on the machine that it runs on."""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from tinygrad import Device

from bench import arrays, calls, cpu, linalg, peers, products, replay, trace
from bench.measure import Report, machine
from bench.workloads import WORKLOADS

BENCHES = {
    "replay": replay.bench,
    "trace": trace.bench,
    "calls": calls.bench,
    "products": products.bench,
    "cpu": cpu.bench,
    "linalg": linalg.bench,
    "arrays": arrays.bench,
}

SEPARATE = {
    "jax": "against.command",
    "tune": "tune",
    "gpu": "gpu",
    "columns": "columns",
    "plain": "plain_tensors",
    "cliffs": "cliffs",
    "eager": "eager",
    "pages": "pages",
}
"""The modules of the benchmarks with options of their own, imported on use: some of them need jax."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Compare vmap with batching by hand: the time to replay a compiled program, and to trace it; the "
        "time to call a compiled function; matrix products by BLAS and by kernels; the gain of the CPU backend; linear "
        "algebra and functions of arrays, compared with numpy and JAX.",
        epilog="The benchmarks run on tinygrad's default device; DEV=... sets another.",
    )
    parser.add_argument(
        "what",
        nargs="*",
        help="replay, trace, calls, products, cpu, linalg, arrays; all if none is named; "
        "and jax, tune, gpu, columns, plain, cliffs, eager, pages",
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="the workloads with this in their name")
    parser.add_argument("--peers", action="store_true", help="add columns for jax and torch, where they are installed")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each workload is measured (default 3)")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the output to a file")
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in SEPARATE:
        if status := importlib.import_module(f"bench.{SEPARATE[given[0]]}").main(given[1:]):
            sys.exit(status)
        return
    options = parser.parse_args(given)
    if unknown := [w for w in options.what if w not in BENCHES]:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHES)}")
    workloads = [w for w in WORKLOADS if options.only in w.name]
    if not workloads:
        parser.error(f"no workload has {options.only!r} in its name; there are {', '.join(w.name for w in WORKLOADS)}")
    if not (math.isfinite(options.seconds) and options.seconds > 0):
        parser.error("--seconds: a number above 0")

    report = Report()
    report.write(f"# Benchmarks on {Device.DEFAULT}", "", *machine())
    found = peers.found() if options.peers else []
    if options.peers:
        report.write(f"- peers: {', '.join(f'{p.name} {p.version}' for p in found) or 'none is installed'}")
    for name in options.what or BENCHES:
        BENCHES[name](report, workloads, found, options.seconds)
    if options.markdown is not None:
        options.markdown.write_text("\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
