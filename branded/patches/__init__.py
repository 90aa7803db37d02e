"""What we mend in tinygrad: each fault in a module of its own, which says what is wrong and how one can tell.

A patch is a module with a function `install`, named in `PATCHES`.  `BRANDED_PATCHES=0` leaves tinygrad as it is, and
`BRANDED_PATCHES=-name,-other` leaves out the patches of these names.
"""

from __future__ import annotations

import importlib
import os

PATCHES: tuple[str, ...] = ("threads", "interning", "fork", "cache")
"""The modules of this package that mend something, in the order in which they are installed."""


def chosen(wanted: str) -> list[str]:
    """The patches that the value of `BRANDED_PATCHES` asks for."""
    without = {name.strip().removeprefix("-") for name in wanted.split(",")}
    return [] if "0" in without else [name for name in PATCHES if name not in without]


def install() -> None:
    for name in chosen(os.environ.get("BRANDED_PATCHES", "1")):
        importlib.import_module(f"{__name__}.{name}").install()
