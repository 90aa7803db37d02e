"""Writes `jax.json`: what each program gives with JAX, to six digits."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden import registry

PATH = Path(__file__).with_name("jax.json")


def number(x: Any) -> Any:
    """Of a bool or an int itself; JSON has no NaN and no infinity, so they are strings."""
    if not isinstance(x, float):
        return x
    x = float(f"{x:.6g}")
    return (int(x) if x.is_integer() else x) if math.isfinite(x) else str(x)


def written(a: np.ndarray) -> list[Any]:
    return [a.dtype.kind, list(a.shape), [number(x) for x in a.reshape(-1).tolist()]]


def main(wanted: list[str]) -> None:
    import jax

    from tests.golden import with_jax

    lines, bad = [f'"jax": {json.dumps(jax.__version__)}'], 0
    for name, p in sorted(registry.load().items()):
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            got = with_jax.results(p.run(with_jax))
            problem = "" if got else "nothing is returned"
            if p.finite and not all(np.isfinite(a).all() for a in got.values()):
                problem = f"not finite: {got}"
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e)[:300]}"
        if problem:
            bad += 1
            print(f"{name}: {problem}", file=sys.stderr)
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps({k: written(a) for k, a in got.items()})}")
    if bad:
        sys.exit(f"{bad} programs have no result, so nothing is written")
    if wanted:
        print("\n".join(lines))
    else:
        PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
