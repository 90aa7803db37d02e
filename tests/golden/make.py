"""Write `jax.json`: the results in JAX, to six digits, of all programs or of those named by a substring."""

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
    """Return a bool or an int unchanged; infinity and NaN become strings, since JSON has neither."""
    if not isinstance(x, float):
        return x
    x = float(f"{x:.6g}")
    return (int(x) if x.is_integer() else x) if math.isfinite(x) else str(x)


def written(a: np.ndarray) -> list[Any]:
    return [a.dtype.kind, list(a.shape), [number(x) for x in a.reshape(-1).tolist()]]


def main(wanted: list[str]) -> None:
    import jax

    from tests.golden import with_jax

    lines, bad = {"jax": json.dumps(jax.__version__)}, 0
    for name, p in sorted(registry.load().items()):
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            whole = name.startswith(
                ("functions.", "draws.")
            )  # compiled as a whole, since single operations take minutes
            got = with_jax.results(jax.jit(lambda p=p: p.run(with_jax))() if whole else p.run(with_jax))
            problem = "" if got else "nothing is returned"
            if p.finite and not all(np.isfinite(a).all() for a in got.values()):
                problem = f"not finite: {got}"
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e)[:300]}"
        if problem:
            bad += 1
            print(f"{name}: {problem}", file=sys.stderr)
        else:
            lines[name] = json.dumps({k: written(a) for k, a in got.items()})
    if bad:
        sys.exit(f"{bad} programs have no result, so nothing is written")
    if wanted:
        known = json.loads(PATH.read_text())
        lines = {name: json.dumps(x) for name, x in known.items() if name in registry.load()} | lines
    names = sorted(lines, key=lambda name: (name != "jax", name))
    PATH.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {lines[name]}" for name in names) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
