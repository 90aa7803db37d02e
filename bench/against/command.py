"""`python -m bench jax`: write the table of `bench/JAX.md`, or compare two such tables."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bench.against import eager
from bench.against.applications import APPLICATIONS
from bench.against.fields import FIELDS
from bench.against.first import first
from bench.against.kinds import KINDS
from bench.against.libraries import LIBRARIES, installed
from bench.against.programs import PROGRAMS, Program
from bench.against.steady import measured, peak, share
from bench.measure import Report, machine

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PARTS = ("steady", "first", "eager")
Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench jax",
        description="Compare programs with `jax.jit` and with eager torch, where these are installed: the time of a "
        "call next to jax, alternating in one process; the time to the first result of a process; and the time of a "
        "call next to torch, each in its own process. One run writes the whole page: --markdown bench/JAX.md.",
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="the programs with this in their name")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each program is measured (default 3)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu for a busy machine (default wall)")
    parser.add_argument("--part", choices=PARTS, help="one table: calls with jax, first calls, or calls with torch")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures to a file")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the output to a file")
    parser.add_argument("--compare", nargs=2, metavar="FILE", type=Path, help="compare two such files")
    options = parser.parse_args(argv)
    report = Report()
    if options.compare:
        compare(report, *(json.loads(path.read_text()) for path in options.compare))
    else:
        chosen = [p for p in (*PROGRAMS, *APPLICATIONS, *KINDS, *FIELDS) if options.only in p.name]
        if not chosen:
            parser.error(f"no program has {options.only!r} in its name")
        found = collect(chosen, options.seconds, options.clock, options.part)
        if options.json is not None:
            options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        show(report, found)
    if options.markdown is not None:
        options.markdown.write_text("\n".join(report.lines) + "\n")


def collect(programs: Sequence[Program], seconds: float, clock: str, part: str | None = None) -> dict[str, Any]:
    """All figures, as JSON has them: on one core for processor time, unless torch is measured on all of them."""
    if clock == "cpu" and hasattr(os, "sched_setaffinity") and not eager.is_installed():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before jax starts its threads
    libraries = {name: LIBRARIES[name]() for name in installed()}
    rows: dict[str, Row] = {p.name: {} for p in programs}
    peaks = peak(CLOCKS[clock])
    wanted = PARTS if part is None else (part,)
    for p in programs:
        row = rows[p.name]
        if "steady" in wanted:
            row |= measured(p, libraries, seconds, CLOCKS[clock])
            row["share"] = share(p, row["seconds"]["here"], peaks)
        if "first" in wanted:
            row["first"] = {name: first(name, p.name) for name in libraries}
        if "eager" in wanted and p in PROGRAMS and eager.is_installed():
            row["eager"] = eager.eager(p.name, seconds, clock)
    return {
        "machine": machine(),
        "versions": {name: m.version for name, m in libraries.items()},
        "torch": version("torch") if eager.is_installed() else None,
        "clock": clock,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "peak": peaks,
        "programs": rows,
    }


def show(report: Report, found: Mapping[str, Any]) -> None:
    peers = [name for name in found["versions"] if name != "here"]
    clock = {"wall": "wall-clock time", "cpu": "processor time"}[found["clock"]]
    report.write("# Compared with JAX", "", *found["machine"])
    there = {name: found["versions"][name] for name in peers} | ({"torch": t} if (t := found.get("torch")) else {})
    versions = ", ".join(f"{name} {v}" for name, v in there.items())
    report.write(f"- peers: {versions or 'none is installed'}")
    flops, size = found["peak"]["flops"] / 1e9, found["peak"]["bytes"] / 1e9
    rates = f"{flops:.0f} GFLOPS in a product of 1024³, and {size:.1f} GB/s in a sum of 128 MB"
    cores = "one core" if found["cores"] == 1 else f"{found['cores']} cores"
    report.write(f"- {clock} on {cores}; numpy reaches {rates}")
    rows: dict[str, Row] = found["programs"]
    if any("seconds" in row for row in rows.values()):
        _steady(report, rows, peers)
    if any("first" in row for row in rows.values()):
        _first(report, rows, peers)
    if any(row.get("eager") for row in rows.values()):
        _eager(report, {name: row["eager"] for name, row in rows.items() if "eager" in row})


def _eager(report: Report, rows: Mapping[str, Any]) -> None:
    columns = [f"{c}{of}" for of in ("", ", one core") for c in ("here ms", "torch ms", "vs torch")]
    add = report.table("A call, compared with eager torch", "program", *columns)
    for line in eager.shown(rows):
        add(*line)
    report.write(
        "",
        "`vs torch`: our time divided by that of eager `torch.func.vmap(f)`, or of `f` itself if it has no `vmap`, "
        "median over rounds. Each library runs in its own process, on all cores and then on one. Programs with a loop "
        "are left out, since torch's loops do not work under `vmap`.",
    )


def _steady(report: Report, rows: Mapping[str, Row], peers: Sequence[str]) -> None:
    add = report.table(
        "A call", "program", "here ms", *(f"{p} ms" for p in peers), *(f"vs {p}" for p in peers), "share", "spread"
    )
    for name, row in rows.items():
        times, ratios = row["seconds"], row["ratio"]
        ms = [1e3 * times[p] if p in times else None for p in ("here", *peers)]
        add(name, *ms, *(ratios.get(p) for p in peers), row["share"], row["spread"]["here"])
    middles = [median([r["ratio"][p] for r in rows.values() if p in r["ratio"]] or [float("nan")]) for p in peers]
    add(f"median of {len(rows)}", *[None] * (1 + len(peers)), *middles, None, None)
    report.write(
        "",
        *(f"`vs {p}`: our time divided by that of {LIBRARIES[p].what}, median over rounds." for p in peers),
        "`share`: bytes or operations per second divided by numpy's; above 1 if the arrays stay in the cache.",
        "`spread`: half of the rounds are within this fraction of the median.",
    )


def _first(report: Report, rows: Mapping[str, Row], peers: Sequence[str]) -> None:
    columns = ["program", "cold s", "warm s", "cold cpu", "warm cpu", "MB"]
    has_jax = "jax" in peers
    add = report.table(
        "To the first result",
        *columns,
        *(["jax cold", "jax warm", "jax MB", "cold / cold", "warm / cold"] if has_jax else []),
    )
    for name, row in rows.items():
        here, jax = row["first"]["here"], row["first"].get("jax")
        cells = [here[when][what] for what in ("wall", "cpu") for when in ("cold", "warm")] + [
            here["cold"]["peak"] / 1e6
        ]
        if jax is not None:
            theirs, warm = jax["cold"]["cpu"], jax["warm"]["cpu"]
            cells += [
                theirs,
                warm,
                jax["cold"]["peak"] / 1e6,
                here["cold"]["cpu"] / theirs,
                here["warm"]["cpu"] / theirs,
            ]
        add(name, *cells)
    report.write(
        "",
        "Each program runs in its own process. The time goes from the arguments to the result, without imports. "
        "`cold`: the disk cache is empty; `warm`: another process has run the program before.",
        "`cpu`: processor time with all child processes, as are all times of jax. `jax warm` uses JAX's disk cache, "
        "which is off by default: `warm / cold` is the default for users of JAX.",
        "`MB`: the peak memory of the process.",
    )


def compare(report: Report, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Write the change of each figure that both tables have."""
    for name, found in (("before", before), ("after", after)):
        report.write(f"- {name}: {found['machine'][0][2:]}; {found['machine'][1][2:]}; {found['clock']}")
    add = report.table("Before and after", "program", "before ms", "after ms", "after / before", "cold", "warm")
    for name, a in before["programs"].items():
        if (b := after["programs"].get(name)) is None:
            continue
        x, y = (row.get("seconds", {}).get("here") for row in (a, b))
        firsts = [
            b["first"]["here"][when]["cpu"] / a["first"]["here"][when]["cpu"] if "first" in a and "first" in b else None
            for when in ("cold", "warm")
        ]
        add(name, *(1e3 * v if v else None for v in (x, y)), y / x if x and y else None, *firsts)
    report.write("", "`cold` and `warm`: processor time to the first result, after divided by before.")
