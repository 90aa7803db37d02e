"""`python -m branded doctor`: try each feature on the installed tinygrad, and print which ones work."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context

from branded import tinygrad_compat
from branded.autodiff.api import grad, jvp
from branded.backends.cpu.renderer import loops as kernels
from branded.collectives.reductions import psum
from branded.compile.jit import jit
from branded.control_flow.loops import scan, while_loop
from branded.core.vmap import vmap
from branded.errors import ShapeError
from branded.tinygrad_compat import activation, features, private_api, zig_clang


class Finding(NamedTuple):
    """The result for a feature.

    Attributes:
        feature: The name of the feature.
        state: `works`, `partly` if some fixes or speed patches are off, `off` if it is not installed, or `fails`.
        detail: The result, or the reason.
        is_wanted: Whether an environment variable switched it off, which is not a problem of tinygrad.
    """

    feature: str
    state: str
    detail: str = ""
    is_wanted: bool = False

    def __str__(self) -> str:
        return f"{self.feature:<12} {self.state:<7} {self.detail}".rstrip()


Probe = Callable[[], str | None]
PROBES: dict[str, Probe] = {}
"""The smallest programs that use a feature, which raise an error if a result is wrong. A missing module fails alone."""


def _probe(f: Probe) -> Probe:
    PROBES[f.__name__.removeprefix("_try_")] = f
    return f


def _check(found: object, expected: object) -> None:
    if found != expected:
        raise ValueError(f"{found} instead of {expected}")


@_probe
def _try_vmap() -> None:
    a, b = Tensor([1, 2, 3]), Tensor([4, 6, 8])
    _check(vmap(lambda x, y: x + y)(a, b).tolist(), [5, 8, 11])
    outer = vmap(lambda x: vmap(lambda y: x + y)(b))(a)
    _check(outer.tolist(), [[5, 7, 9], [6, 8, 10], [7, 9, 11]])
    _check(vmap(lambda x: x / psum(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist(), [0.25, 0.75])


@_probe
def _try_grad() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    _check(vmap(grad(lambda x: (x * x * x).sum()))(x).tolist(), [[3.0, 12.0], [27.0, 48.0]])
    y, dy = jvp(lambda x: x * x, (Tensor(3.0),), (Tensor(1.0),))
    _check((y.item(), dy.item()), (9.0, 6.0))


@_probe
def _try_loops() -> None:
    doubled = vmap(lambda n: while_loop(lambda k: k < 10, lambda k: k * 2, n))
    _check(doubled(Tensor([1, 2, 3])).tolist(), [16, 16, 12])
    last, sums = scan(lambda c, x: (c + x, c), Tensor(0), Tensor([1, 2, 3]))
    _check((last.item(), sums.tolist()), (6, [0, 1, 3]))


@_probe
def _try_jit() -> None:
    f = jit(vmap(lambda x: (x * 2).sum()))
    for n in (1.0, 2.0, 3.0):
        _check(f(Tensor([[n, 1.0]])).tolist(), [2 * n + 2])


@_probe
def _try_callbacks() -> None:
    from branded.callbacks.api import pure_callback
    from branded.callbacks.trees import ShapeDtypeStruct

    kind = ShapeDtypeStruct((2,), dtypes.float32)
    reverse = vmap(lambda x: pure_callback(lambda v: v[::-1].copy(), kind, x, vmap_method="sequential"))
    _check(reverse(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist(), [[2.0, 1.0], [4.0, 3.0]])


@_probe
def _try_compiler() -> str:
    _check(Tensor([1.0, 2.0], device="CPU").mul(3).tolist(), [3.0, 6.0])
    command = zig_clang.command()
    return " ".join([shutil.which(command[0]) or command[0], *command[1:]])


@_probe
def _try_backend() -> None:
    x = Tensor([[float(i * j % 7) for j in range(64)] for i in range(64)], device="CPU").realize()
    both = []
    for is_on in (1, 0):
        with Context(BRANDED_CPU=is_on):  # type: ignore[no-untyped-call]
            rows = vmap(lambda r: (r @ x).sum() / (1 + (r * 1e-3).exp().sum()))(x)
            both.append(rows.tolist())
    for fast, plain in zip(*both, strict=True):
        _check(abs(fast - plain) <= 1e-4 * abs(plain), True)


@_probe
def _try_native() -> None:
    def total(x: Tensor) -> Tensor:
        return scan(lambda c, x: (c + x, c), x[0] * 0, x)[0]

    f = jit(total)
    for n in (1.0, 2.0, 3.0):
        _check(f(Tensor.full((100,), n, device="CPU")).item(), 100 * n)


@_probe
def _try_disk() -> None:
    for _ in range(2):
        _check((Tensor([1.0, 5.0]) - 3).tolist(), [-2.0, 2.0])


@_probe
def _try_errors() -> None:
    try:
        vmap(lambda x: x + Tensor([1, 2]))(Tensor([[1, 2, 3]]))
    except ShapeError:
        return
    raise ValueError("shapes that do not fit raise no ShapeError")


@_probe
def _try_functions() -> None:
    from branded.functions import median

    _check(vmap(median)(Tensor([[3.0, 1.0, 2.0]])).tolist(), [2.0])


@_probe
def _try_linalg() -> None:
    from branded import linalg

    x = linalg.solve(Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([2.0, 2.0]))
    _check([round(v, 5) for v in x.tolist()], [1.0, 0.5])


@_probe
def _try_random() -> None:
    from branded import random

    first, again = (random.uniform(random.key(1), (3,)).tolist() for _ in range(2))
    _check(first, again)


@_probe
def _try_memory() -> None:
    from branded.tools.memory_report import memory

    _check(memory(lambda x: x + 1)(Tensor.empty(256)).peak >= 1024, True)


@_probe
def _try_explain() -> None:
    from branded.explain import explain

    _check("for " in explain(vmap(lambda x: x + 1), Tensor([1, 2])).data()["loop"], True)


@_probe
def _try_profile() -> None:
    from branded.tools.profile import profile

    _check(bool(str(profile(lambda x: x + 1, Tensor([1.0]).realize()))), True)


@_probe
def _try_fixes() -> None:
    small, nan = Tensor([200, 100], dtype="uint8").realize(), Tensor([float("nan"), 1.0]).realize()
    _check((small + 100).cast("int32").tolist(), [44, 200])
    _check((nan != nan).tolist(), [True, False])


@_probe
def _try_speed() -> None:
    x = Tensor([1.0, 2.0]).realize()
    y = x
    for _ in range(50):
        y = y * 0.5 + 1
    _check([round(v, 5) for v in (x - x + y.reshape(1, 2).expand(3, 2).sum(0)).tolist()], [6.0, 6.0])


def _is_off(feature: str) -> Finding | None:
    """Return the reason why a feature is not installed, or None if it is."""
    if lacking := features.lacking(feature):
        return Finding(feature, "off", _list(lacking))
    patches = tinygrad_compat.faster if feature == "speed" else tinygrad_compat.installed
    if feature in ("backend", "native", "disk", "fixes", "speed") and not tinygrad_compat.is_tested():
        return Finding(feature, "off", f"the tests passed with tinygrad {tinygrad_compat.TINYGRAD}x")
    if feature in ("backend", "disk", "fixes", "speed") and not patches:
        return Finding(feature, "off", "BRANDED_PATCHES", is_wanted="BRANDED_PATCHES" in os.environ)
    if feature == "backend" and not kernels.cpu_codegen.value:
        return Finding(feature, "off", "BRANDED_CPU", is_wanted=True)
    return None


def _list(problems: Mapping[str, str]) -> str:
    return ", ".join(f"{name} is {text}" for name, text in problems.items())


def _works(feature: str, detail: str | None) -> Finding:
    """Return the finding for a feature whose probe passed, which counts the fixes or the speed patches."""
    if feature not in ("fixes", "speed"):
        return Finding(feature, "works", detail or private_api.FEATURES.get(feature, ""))
    names = tinygrad_compat.FASTER if feature == "speed" else tinygrad_compat.PATCHES
    installed = tinygrad_compat.faster if feature == "speed" else tinygrad_compat.installed
    lacking = {name: found for name, found in private_api.problems().items() if name in names}
    reasons = [f"{name} is off: {_list(found)}" for name, found in lacking.items()]
    count = f"{len(installed)} of {len(names)} are installed"
    return Finding(feature, "partly" if lacking else "works", "; ".join([count, *reasons]))


def findings() -> Iterator[Finding]:
    """Try each feature, and yield the results one by one, since a wrong kernel may end the process."""
    for feature, probe in PROBES.items():
        if (off := _is_off(feature)) is not None:
            yield off
            continue
        try:
            with activation.running_block():  # a program of tinygrad alone would use none of the features
                detail = probe()
            yield _works(feature, detail)
        except Exception as error:
            yield Finding(feature, "fails", f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def report(version: str) -> bool:
    """Print the result for each feature, and return whether all of them work.

    Args:
        version: The version of this package.

    Example:
        >>> from branded.tools import doctor
        >>> print(doctor.Finding("jit", "works", "compiled functions"))
        jit          works   compiled functions
    """
    tested = "tested" if tinygrad_compat.is_tested() else "untested"
    versions = f"branded {version}, tinygrad {tinygrad_compat.version()} ({tested})"
    print(f"{versions}, Python {platform.python_version()}")
    works = True
    for finding in findings():
        print(finding, flush=True)
        works = works and (finding.state == "works" or finding.is_wanted)
    return works
