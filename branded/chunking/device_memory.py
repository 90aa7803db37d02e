"""The free memory of a device."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path
from typing import Any

from tinygrad import Device

from branded.backends.cuda.launch import load_driver
from branded.errors import OptionError

_SHARE = 0.9
"""The fraction of the free memory that may be used; the process and the system need the rest."""


def free(device: str) -> int:
    """Return the free bytes of a device, less a tenth.

    Raises:
        OptionError: The free memory of the device is unknown.
    """
    kind = device.split(":")[0]
    available = _of_the_host() if kind in ("CPU", "PYTHON", "NPY") else _of_cuda(device)
    if available is None:
        raise OptionError(f'chunk_size: "auto" cannot find the free memory of {device}', fix='memory_limit="2GB"')
    return int(available * _SHARE)


def _of_the_host() -> int | None:
    """Return the memory available from the system, within the limit of the container."""
    sizes = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except OSError:
        # this system does not report its free memory: assume half of the total
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        most, now = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        if most != "max":
            sizes.append(max(int(most) - int(now), 0))
    return min(sizes, default=None)


def _of_cuda(device: str) -> int | None:
    """Return the free memory of the driver plus the buffers that tinygrad's allocator caches for reuse."""
    if device.split(":")[0] not in ("CUDA", "NV"):
        return None
    opened: Any = Device[device]
    try:
        driver: Any = load_driver()
        free_bytes, whole, context = ctypes.c_size_t(), ctypes.c_size_t(), getattr(opened, "context", None)
        if (
            context is None
            or driver.cuCtxSetCurrent(context)
            or driver.cuMemGetInfo_v2(ctypes.byref(free_bytes), ctypes.byref(whole))
        ):
            return None
    except (OSError, AttributeError, TypeError, ctypes.ArgumentError):
        return None
    cache = getattr(opened.allocator, "cache", {})
    again: int = sum(size * len(buffers) for (size, _), buffers in cache.items())
    return free_bytes.value + again
