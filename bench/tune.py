"""`python -m bench tune`: the gain of `tune`, on the programs of `python -m bench jax`.

Each program is compiled by the default rules and with `tune`, without cached results of earlier trials. Their calls
alternate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tinygrad import Context, Device

from bench.against.applications import APPLICATIONS
from bench.against.libraries import LIBRARIES
from bench.against.programs import PROGRAMS, Program
from bench.against.steady import calls_of
from bench.measure import Report, check, interleave, machine, ratio
from bench.workloads import floats, ints
from branded import jit
from branded.backends.cpu.autotune import config


def _rnn(m: Any) -> Any:
    return lambda w, h, xs: m.scan(lambda h, x: (m.tanh(h @ w + x), None), h, xs)[0]


OTHERS = (
    Program("largest of each column, 1000²", (floats(1000, 1000),), lambda m: lambda x: x.max(0)),
    Program("spread of each column, 4096 x 64", (floats(4096, 64),), lambda m: lambda x: x.var(0)),
    Program("sums of 60,000 rows of 32", (floats(60000, 32),), lambda m: lambda x: x.sum(1)),
    Program("largest of 30,000 rows of 64", (floats(30000, 64),), lambda m: lambda x: x.max(1)),
    Program("30,000 rows of 24 times as many", (floats(30000, 24),) * 2, lambda m: lambda x, y: (x * y).sum(1)),
    Program("256 vectors by 128², integers", (ints(9, 256, 128, 128), ints(9, 256, 128, 1)), lambda m: _by_columns),
    Program("RNN of 64, 1,000 steps, rows", (floats(64, 64, scale=1 / 8), floats(64), floats(1000, 64)), _rnn),
)
"""Programs that no rule was made for, and sums of short rows. The rules were made with the other programs."""


def _by_columns(w: Any, x: Any) -> Any:
    return (w * x).sum(1)


class Gain(NamedTuple):
    """Measure a program by the default rules and with `tune`: milliseconds of a call, and the time of the trials."""

    rule: float
    tuned: float
    gain: float
    kernels: config.Report
    seconds: float


def measured(p: Program, how: config.TuneLevel, seconds: float) -> Gain:
    m: Any = LIBRARIES["here"]()
    xs = [m.array(a) for a in p.arrays()]
    by_rule, tuned = jit(p.of(m)), jit(p.of(m), tune=how)
    right = by_rule(*xs)
    start = time.perf_counter()
    found = tuned(*xs)
    took = time.perf_counter() - start
    check(p.name, found, right)
    calls = calls_of(lambda: by_rule(*xs))

    def runs(f: Any) -> Any:
        return lambda: [m.done(f(*xs)) for _ in range(calls)]

    times = interleave({"rule": runs(by_rule), "tuned": runs(tuned)}, seconds, clock=time.process_time)
    by, now = (median(times[name]) / calls * 1e3 for name in ("rule", "tuned"))
    return Gain(by, now, ratio(times, "rule", "tuned"), getattr(tuned, "tuned"), took)  # noqa: B009  mypy knows the function alone


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tune", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="the programs with this in their name")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each program is measured (default 1)")
    parser.add_argument("--how", choices=config.BEAM, default="fast", help="the kind of `tune` (default fast)")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the output to a file")
    options = parser.parse_args(argv)
    if Device.DEFAULT != "CPU":
        parser.error("it is for the CPU alone")
    chosen = [p for p in (*PROGRAMS, *APPLICATIONS, *OTHERS) if options.only in p.name]
    if not chosen:
        parser.error(f"no program has {options.only!r} in its name")
    report = Report()
    report.write("# Trying the kernels", "", *machine())
    add = report.table(f'tune="{options.how}"', "program", "rule ms", "tuned ms", "gain", "tried", "other", "took s")
    found: list[Gain] = []
    with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
        for p in chosen:
            found.append(gain := measured(p, options.how, options.seconds))
            others = sum(k.form != "rule" for k in gain.kernels)
            add(p.name, gain.rule, gain.tuned, gain.gain, len(gain.kernels), others, gain.seconds)
    add(
        f"median of {len(found)}",
        None,
        None,
        median(g.gain for g in found),
        None,
        None,
        median(g.seconds for g in found),
    )
    report.write(
        "",
        "Medians in time of the processor of calls in turns; `gain`: of how many times as long a call by the rules is. "
        "`tried`: kernels that were; `other`: those of them whose form is not the rule's; `took`: the first call, with "
        "kernels of the rule that are compiled already.",
    )
    if options.markdown is not None:
        options.markdown.write_text("\n".join(report.lines) + "\n")
