"""Plain tinygrad with and without `import branded`: `python -m tests.fuzz.plain --programs 200 --seed 7`.

Each program must return the same bytes or raise the same error, and compile the same kernels: plain, after the import,
after a vmap, a grad and a jit in the same process, and while another thread is in a mapped function or realizes. It
prints each program that does not, the names of tinygrad that the import replaces, and changes in Python and in the
process. The exit code is 1 if a program differs or a fact about the process changes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.plain import compare
from tests.plain.programs import program


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.plain", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200, help="how many programs (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the programs (default 0)")
    parser.add_argument("--only", metavar="NUMBERS", help="the numbers of the programs, with commas between them")
    parser.add_argument(
        "--conditions", default=",".join(compare.DEFAULT), help="default: %(default)s; also racing, racing plain"
    )
    parser.add_argument("--diff", action="store_true", help="print how the sources of the kernels differ")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time (default 2)")
    args = parser.parse_args()
    numbers = [int(n) for n in args.only.split(",")] if args.only else list(range(args.programs))
    conditions = [c for c in args.conditions.split(",") if c]
    if unknown := [c for c in conditions if c not in compare.CONDITIONS]:
        parser.error(f"no condition is called {unknown[0]!r}; there are {', '.join(compare.CONDITIONS)}")
    with tempfile.TemporaryDirectory() as folder:
        changes = compare.state(Path(folder))
        report = compare.programs(numbers, args.seed, conditions, Path(folder), args.jobs)
    for places, moment in ((changes.names, "the import"), (changes.late, "only a use")):
        print(f"{sum(map(len, places.values()))} names in {len(places)} modules and classes that {moment} changes")
        for place, names in places.items():
            print(f"  {len(names):3} {place}: {', '.join(names)}")
    print(f"{len(changes.facts)} facts about the process changed", *changes.facts, sep="\n  ")
    for title, found in compare.by_program(report.differences, args.seed).items():
        print(f"program {title}")
        for d in found:
            print(f"    {d}")
            if args.diff and d.field == "sources":
                print("      " + d.diff().replace("\n", "\n      "))
    if report.raised:
        print("raised in the other thread, which is not counted:", *sorted(set(report.raised)), sep="\n  ")
    errors = sum("error" in outcome for outcome in report.outcomes.values())
    kernels = len({s for outcome in report.outcomes.values() for s in outcome["sources"]})
    print(f"seed {args.seed}: {len(numbers)} programs, {kernels} kernels, {errors} of the programs raise")
    for c in conditions:
        of = [d for d in report.differences if d.condition == c]
        fields = ", ".join(f"{field} of {n}" for field, n in Counter(d.field for d in of).items())
        print(f"  {c}: {len({d.number for d in of})} programs differ{f' ({fields})' if fields else ''}")
        kinds = Counter(program(n, args.seed).kind for n in {d.number for d in of})
        if kinds:
            print("    " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
    return int(bool(report.differences or changes.facts))


if __name__ == "__main__":
    sys.exit(main())
