"""Check the laws on many programs: `make fuzz`, or `python -m tests.fuzz --examples 20000 --seed 7`.

It prints the seed of each round.  A failure is shrunk to a minimal program and ends the run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from hypothesis import HealthCheck, given, seed, settings
from tinygrad import Context

from tests.support.programs import Nest, agree, nests


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=", description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=5000, help="programs in all (default 5000)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="the seed of the first round")
    parser.add_argument("--depth", type=int, default=4, help="the deepest nest of vmaps (default 4)")
    parser.add_argument("--steps", type=int, default=16, help="the longest program (default 16)")
    args = parser.parse_args()
    rounds = range(args.seed, args.seed + max(1, args.examples // 500))
    start, done = time.monotonic(), 0
    for number in rounds:
        print(f"seed {number}: {done} programs agree, {time.monotonic() - start:.0f} s", flush=True)

        @seed(number)
        @settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(nests(args.depth, args.steps))
        def law(nest: Nest) -> None:
            nonlocal done
            agree(nest)
            done += 1

        with Context(DEV="PYTHON"):
            law()
    print(f"{done} programs agree with their loops, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
