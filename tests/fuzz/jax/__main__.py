"""Run many programs in both libraries: `make fuzz-jax`, or `python -m tests.fuzz.jax --seed 7 --programs 2000`.

The programs run in a separate process, so that a crash is one finding and does not end the run.  A failing program is
shrunk, and printed as a file that can be run.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
from typing import Any

TIME_OUT = 90
"""CPU seconds for one program; wall-clock time would depend on other processes."""
STUCK = 1800
"""Wall-clock seconds without output after which a worker is killed."""


def worker(seed: int, start: int, stop: int, compiled: int, no_shrink: bool, more: bool) -> None:
    """Run the programs with these numbers; print one line of JSON before and one after each."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    import jax
    from tinygrad import Context

    from tests.fuzz.jax import ours, theirs
    from tests.fuzz.jax.draw import draw
    from tests.fuzz.jax.judge import judge
    from tests.fuzz.jax.shrink import shrunk

    def say(**what: Any) -> None:
        print(json.dumps(what), flush=True)

    seen: set[str] = set()
    for number in range(start, stop):
        if number % 100 == 0:
            jax.clear_caches()  # compiled code of earlier programs takes half a GiB
        say(begin=number)
        spent = resource.getrusage(resource.RUSAGE_SELF)
        end = int(spent.ru_utime + spent.ru_stime) + TIME_OUT + 70 * (not no_shrink)
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))  # then SIGXCPU ends this process
        program = draw(seed, number, more)
        ours.COMPILE = compiled > 0 and number % compiled == 0
        theirs.COMPILE = ours.COMPILE
        ours.unknown.clear()
        device = "CPU" if ours.COMPILE else "PYTHON"
        with jax.enable_x64(number % 2 == 1), Context(DEV=device):
            verdict = judge(program)
            text = ""
            if verdict.is_finding:
                kind = signature(verdict.kind, verdict.text)

                def fails(p: Any, kind: str = kind) -> bool:
                    v = judge(p)
                    return signature(v.kind, v.text) == kind

                small = program if no_shrink or kind in seen else shrunk(program, fails, 30)
                verdict = judge(small)
                text = small.text()
                seen |= {kind} if not kind.startswith("wrong") else set()
        functions = sorted(set(re.findall(r"m\.(\w+)", program.body())))
        say(end=number, kind=verdict.kind, said=verdict.text, text=text, functions=functions, unknown=ours.unknown)


def signature(kind: str, said: str) -> str:
    """Return a key that is equal for similar findings."""
    if kind in ("wrong value", "wrong type"):
        return kind
    return kind + ": " + re.sub(r"\d+|`[^`]*`|'[^']*'|v\d+\S*", "_", said)


class Runner:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.counts: collections.Counter[str] = collections.Counter()
        self.functions: collections.Counter[str] = collections.Counter()
        self.unknown: collections.Counter[str] = collections.Counter()
        self.jax: collections.Counter[str] = collections.Counter()
        self.findings: dict[str, list[int]] = {}
        self.started = time.monotonic()

    def run(self) -> int:
        at, stop = self.args.start, self.args.start + self.args.programs
        while at < stop:
            at = self.batch(at, min(at + self.args.batch, stop))
            seconds = time.monotonic() - self.started
            done = at - self.args.start
            print(
                f"seed {self.args.seed}: {done} programs, {done / seconds:.1f} a second: {self.summary()}", flush=True
            )
        self.report()
        return 1 if self.findings else 0

    def summary(self) -> str:
        return ", ".join(f"{n} {kind}" for kind, n in self.counts.most_common())

    def batch(self, start: int, stop: int) -> int:
        """Run a batch in a separate process; return the number of the next program."""
        command = [sys.executable, "-m", "tests.fuzz.jax", "--worker", "--seed", str(self.args.seed)]
        command += ["--start", str(start), "--programs", str(stop - start), "--compiled", str(self.args.compiled)]
        command += ["--no-shrink"] * self.args.no_shrink + ["--more"] * self.args.more
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        at, ended = start, True
        while True:
            if not select.select([child.stdout], [], [], STUCK)[0]:
                child.kill()
                child.wait()
                self.found("time-out", f"nothing in {STUCK} s", at, "")
                return at + 1
            line = child.stdout.readline()
            if not line:
                break
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            if "begin" in said:
                at, ended = said["begin"], False
                continue
            ended = True
            self.functions.update(said["functions"])
            self.unknown.update(said["unknown"])
            self.note(said["kind"], said["said"], said["end"], said["text"])
        if child.wait() == -signal.SIGXCPU:
            self.found("time-out", f"more than {TIME_OUT} s of the processor", at, "")
            return at + 1
        if child.returncode or not ended:
            self.found("crash", f"exit status {child.returncode}", at, "")
            return at + 1
        return stop

    def note(self, kind: str, said: str, number: int, text: str) -> None:
        from tests.fuzz.jax import FINDINGS

        if kind in FINDINGS:
            self.found(kind, said, number, text)
            return
        self.counts[kind] += 1
        if kind == "jax refuses":
            self.jax[signature("", said)[:160]] += 1

    def found(self, kind: str, said: str, number: int, text: str) -> None:
        self.counts[kind] += 1
        known = signature(kind, said)
        self.findings.setdefault(known, []).append(number)
        print(f"\n==== {kind}, program {self.args.seed}:{number} ====\n{said}\n{text}", flush=True)

    def report(self) -> None:
        print(f"\nseed {self.args.seed}, programs {self.args.start} to {self.args.start + self.args.programs - 1}:")
        for kind, n in self.counts.most_common():
            print(f"  {n:6} {kind}")
        print("functions:", ", ".join(f"{name} {n}" for name, n in self.functions.most_common()))
        if self.unknown:
            print("run by tinygrad:", dict(self.unknown))
        for said, n in self.jax.most_common(20):
            print(f"  JAX refuses {n}{said}")
        for known, numbers in sorted(self.findings.items(), key=lambda item: -len(item[1])):
            print(f"  {len(numbers):4} {known[:200]!r}: programs {numbers[:8]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-jax ARGS=", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="the seed of all programs")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--start", type=int, default=0, help="the number of the first (default 0)")
    parser.add_argument("--batch", type=int, default=250, help="how many in one process (default 250)")
    parser.add_argument("--compiled", type=int, default=10, help="one in so many runs as compiled kernels (0: none)")
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    parser.add_argument("--more", action="store_true", help="also modules, static arguments, writes into arguments")
    parser.add_argument("--show", action="store_true", help="print the programs, and do not run them")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.show:
        from tests.fuzz.jax.draw import draw

        for number in range(args.start, args.start + args.programs):
            print(draw(args.seed, number, args.more).text())
        return 0
    if args.worker:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        worker(args.seed, args.start, args.start + args.programs, args.compiled, args.no_shrink, args.more)
        return 0
    return Runner(args).run()


if __name__ == "__main__":
    sys.exit(main())
