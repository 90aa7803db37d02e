"""What we put into tinygrad: what mends a fault, and what tells it of brands.

A patch mends a fault: a module with a function `install`, named in `PATCHES`, which says what is wrong and how one can
tell; those in `FASTER` do what tinygrad does in less time.  They are installed before the rest of this package is
imported, which takes what they replace; the hooks, which use the rest, after it, by `hooks.install`.
`BRANDED_PATCHES=0` mends nothing, `BRANDED_PATCHES=-name,-other` does without the patches of these names.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from pathlib import Path

import tinygrad

PATCHES: tuple[str, ...] = (
    *("threads", "interning", "fork", "draws", "cache", "unfinished", "options"),
    *("images", "ranges", "numbering", "gates", "alignment", "views", "copies", "empty", "whole"),
    *("vectorizer", "ordering", "workers", "byte_order", "products", "small_ints", "constants"),
    *("vector_casts", "nan", "bounds", "metadata", "argmax", "shifts", "quotients", "powers", "widening"),
    *("launched", "angles", "rounding"),
)
"""The modules of this package that mend something, in the order in which they are installed."""
FASTER: tuple[str, ...] = ("matching", "rewriting", "deriving", "arange", "clang", "reduce", "alike", "layouts")
"""Those that change no result; they come before."""
TINYGRAD = "0.14."
"""How the version of the tinygrad begins in which the faults were found."""


@functools.cache
def version() -> str:
    """That of the tinygrad here; one that was not installed, as in a browser, we put there ourselves.

    It stands in the name of a folder beside the package, which is found sooner than Python's own way is imported.
    """
    beside = [p.stem for p in Path(tinygrad.__file__).parents[1].glob("tinygrad-*.dist-info")]
    if len(beside) == 1:
        return beside[0].removeprefix("tinygrad-")
    import importlib.metadata

    try:
        return importlib.metadata.version("tinygrad")
    except importlib.metadata.PackageNotFoundError:
        return TINYGRAD


def chosen(wanted: str, among: tuple[str, ...] = PATCHES) -> list[str]:
    """The patches that the value of `BRANDED_PATCHES` asks for; none in an untried tinygrad."""
    without = {name.strip().removeprefix("-") for name in wanted.split(",")}
    if "0" in without or not version().startswith(TINYGRAD):
        return []
    return [name for name in among if name not in without]


installed = tuple(chosen(os.environ.get("BRANDED_PATCHES", "1")))
faster = tuple(chosen(os.environ.get("BRANDED_PATCHES", "1"), FASTER))


def tried() -> bool:
    """Is this a tinygrad that the tests have seen?  If it is not, one warning says so."""
    if not (here := version()).startswith(TINYGRAD):
        warnings.warn(
            f"branded: tinygrad {here} is untried; the tests passed with {TINYGRAD}x, and what is mended there is "
            "left as it is here",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def install() -> None:
    os.environ.setdefault("PATH", os.defpath)  # tinygrad looks for its libraries there, and raises where there is none
    tried()
    for name in (*faster, *installed):
        importlib.import_module(f"{__name__}.{name}").install()
