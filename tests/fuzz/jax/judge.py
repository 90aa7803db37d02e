"""Run one program in both libraries, and compare the results."""

from __future__ import annotations

import re
import traceback
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Context

from branded import BrandedError
from tests.fuzz.jax import FINDINGS, ours
from tests.fuzz.jax.form import DTYPES, Program, Var

TOLERANCE = {"float16": 3e-2, "float32": 2e-3, "float64": 1e-6}
"""The tolerance for each dtype, the least precise first."""

DELIBERATE: dict[str, str] = {
    "a rule does not speak of what its function closes over": r"closes over a differentiated value",
}
"""Programs that branded rejects on purpose and JAX does not: a name, and a pattern of the message."""


class Verdict(NamedTuple):
    kind: str
    """`agree`, `both refuse`, `jax refuses`, `deliberate: …`, or a finding: `wrong value`, `wrong type`, `raw error`,
    `refused` where JAX does not, `accepted` where it is wrong on purpose; the runner adds `crash` and `time-out`."""
    text: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in FINDINGS


def attempt(program: Program, m: Any, names: dict[Var, str] | None = None) -> Any:
    try:
        return program.run(m, names)
    except Exception as error:
        return error


def short(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    first = (str(error).strip() or "no text").splitlines()[0][:300]
    return f"{type(error).__name__}: {first} ({where.filename.rpartition('/')[2]}:{where.lineno})"


def judge(program: Program, names: dict[Var, str] | None = None) -> Verdict:
    """Compare both libraries; if results evaluated by numpy differ, repeat with kernels."""
    from tests.fuzz.jax import theirs  # other parts of this module do not need JAX

    through = [coarsest(program, out) for out in program.main.outs]
    verdict = _verdict(attempt(program, ours, names), attempt(program, theirs, names), through)
    if program.wrong and verdict.kind == "jax refuses":
        verdict = Verdict("accepted", f"{program.wrong}: {verdict.text}")
    if (verdict.is_finding or verdict.kind == "jax refuses") and not ours.COMPILE:
        ours.COMPILE = theirs.COMPILE = True
        try:
            with Context(DEV="CPU"):
                verdict = judge(program, names)
        finally:
            ours.COMPILE = theirs.COMPILE = False
    return verdict


def coarsest(program: Program, out: Var) -> str:
    """Return the least precise float dtype among the values that a result depends on."""
    seen = {out}
    for let in reversed(program.main.body):
        if not seen.isdisjoint(let.targets):
            seen.update(let.operands, *(f.everything() for f in let.functions))
    floats = {DTYPES[v.type.dtype] for v in seen if v.type.is_float}
    return next((name for name in TOLERANCE if name in floats), "float32")


def _verdict(got: Any, wanted: Any, through: list[str]) -> Verdict:
    if isinstance(got, Exception):
        if not isinstance(got, BrandedError):
            return Verdict("raw error", short(got))
        if isinstance(wanted, Exception):
            return Verdict("both refuse", f"{short(got)} / {short(wanted)}")
        for name, said in DELIBERATE.items():
            if re.search(said, str(got)):
                return Verdict(f"deliberate: {name}", short(got))
        return Verdict("refused", short(got))
    if isinstance(wanted, Exception):
        return Verdict("jax refuses", short(wanted))
    return compared(got, wanted, through)


def compared(got: list[np.ndarray], wanted: list[np.ndarray], through: list[str]) -> Verdict:
    if len(got) != len(wanted):
        return Verdict("wrong type", f"{len(got)} results for {len(wanted)}")
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return Verdict("wrong type", f"result {i} is {a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}")
        if not close(a, b, through[i]):
            return Verdict("wrong value", f"result {i} is\n{a}\nfor\n{b}")
    return Verdict("agree")


def close(a: np.ndarray, b: np.ndarray, through: str = "float64") -> bool:
    if a.dtype.kind != "f":
        return bool((a == b).all())
    tolerance = max(TOLERANCE[a.dtype.name], TOLERANCE[through])
    finite = b[np.isfinite(b)]
    size = float(np.abs(finite).max(initial=1.0))
    return bool(np.allclose(a.astype("f8"), b.astype("f8"), rtol=tolerance, atol=tolerance * size, equal_nan=True))
