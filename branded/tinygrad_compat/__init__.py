"""The interface to tinygrad: its private names, and fixes of its bugs.

A fix is a module with a function `install` and a docstring that describes the bug. `PATCHES` lists the fixes, and
`FASTER` the patches that only save time. Both are installed at the first use of this package, except those in `EARLY`;
`hooks.registry` installs the hooks afterwards. `activation` decides when they are active.
`BRANDED_PATCHES=0` disables all patches, and `BRANDED_PATCHES=-name,-other` disables the named ones.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import tinygrad

from branded.tinygrad_compat import features

_FIXES, _SPEED = "tinygrad_compat.fixes", "tinygrad_compat.speed"
_RUNTIME, _KERNELS, _NUMERICS = f"{_FIXES}.runtime", f"{_FIXES}.kernels", f"{_FIXES}.numerics"
PATCHES: Mapping[str, str] = {
    "threads": f"{_RUNTIME}.thread_safety",
    "interning": f"{_RUNTIME}.uop_interning",
    "fork": f"{_RUNTIME}.fork_safety",
    "draws": "hooks.rng_counter",
    "cache": f"{_RUNTIME}.disk_cache_errors",
    "unfinished": f"{_RUNTIME}.rollback_failed_realize",
    "pickles": f"{_RUNTIME}.deep_pickles",
    "options": f"{_RUNTIME}.interrupt_safe_context",
    "images": f"{_KERNELS}.image_dtype",
    "ranges": f"{_KERNELS}.merged_ranges",
    "one_hots": f"{_KERNELS}.one_hot_products",
    "numbering": f"{_KERNELS}.argument_order",
    "gates": f"{_KERNELS}.gated_load_dtype",
    "alignment": f"{_KERNELS}.buffer_alignment",
    "views": f"{_KERNELS}.nested_views",
    "copies": f"{_KERNELS}.multi_device_copies",
    "empty": f"{_KERNELS}.empty_arguments",
    "whole": f"{_RUNTIME}.full_setitem",
    "vectorizer": f"{_KERNELS}.wrapping_index_vectors",
    "ordering": f"{_KERNELS}.operation_order",
    "nesting": f"{_KERNELS}.nested_expressions",
    "workers": f"{_SPEED}.compile_workers",
    "byte_order": f"{_NUMERICS}.byte_order",
    "products": f"{_NUMERICS}.bool_products",
    "small_ints": f"{_NUMERICS}.narrow_int_overflow",
    "constants": f"{_NUMERICS}.constant_overflow",
    "vector_casts": f"{_NUMERICS}.vector_casts",
    "bfloat16": f"{_KERNELS}.bfloat16_storage",
    "nan": f"{_NUMERICS}.nan_comparison",
    "bounds": f"{_NUMERICS}.int_bounds",
    "metadata": f"{_RUNTIME}.gradient_metadata",
    "argmax": f"{_NUMERICS}.argmax_of_nan",
    "shifts": f"{_NUMERICS}.wide_shifts",
    "quotients": f"{_NUMERICS}.division_by_zero",
    "powers": f"{_NUMERICS}.int_powers",
    "remainders": f"{_NUMERICS}.float_remainders",
    "divisors": f"{_NUMERICS}.negative_divisors",
    "widening": f"{_NUMERICS}.int_products",
    "launched": f"{_KERNELS}.device_index",
    "angles": f"{_NUMERICS}.float64_angles",
    "rounding": f"{_NUMERICS}.float16_rounding",
}
"""The modules of the fixes by the names that `BRANDED_PATCHES` accepts, in the order of installation."""
FASTER: Mapping[str, str] = {
    "matching": f"{_SPEED}.pattern_compiler",
    "rewriting": f"{_SPEED}.fast_rewrite",
    "deriving": f"{_SPEED}.fast_shape_dtype",
    "movements": f"{_SPEED}.movement_cache",
    "operands": f"{_SPEED}.operand_promotion",
    "sorting": f"{_SPEED}.fast_toposort",
    "searching": f"{_SPEED}.computed_tensors",
    "arange": f"{_SPEED}.creation_cache",
    "clang": f"{_SPEED}.clang_batches",
    "reduce": f"{_KERNELS}.reduce_to_one_device",
    "alike": f"{_SPEED}.share_compiled_kernels",
    "layouts": f"{_KERNELS}.buffer_layouts",
    "skipping": f"{_SPEED}.skipped_rewrites",
}
"""The modules of the patches that change no result. They are installed before the fixes."""
TINYGRAD = "0.14."
"""The prefix of the tinygrad version in which the bugs were found."""


@functools.cache
def version() -> str:
    """Return the version of the imported tinygrad.

    The name of the `.dist-info` folder next to the package contains it. Reading the name is faster than importing
    `importlib.metadata`. Without metadata, as in a browser, tinygrad is a copy that this project provides.
    """
    beside = [p.stem for p in Path(tinygrad.__file__).parents[1].glob("tinygrad-*.dist-info")]
    if len(beside) == 1:
        return beside[0].removeprefix("tinygrad-")
    import importlib.metadata

    try:
        return importlib.metadata.version("tinygrad")
    except importlib.metadata.PackageNotFoundError:
        return TINYGRAD


def is_tested() -> bool:
    """Return whether the tests cover the version of the imported tinygrad."""
    return version().startswith(TINYGRAD)


def select_patches(wanted: str, among: Iterable[str] = PATCHES) -> list[str]:
    """Return the patches that a value of `BRANDED_PATCHES` selects and whose private names exist.

    For an untested version of tinygrad this is an empty list.
    """
    without = {name.strip().removeprefix("-") for name in wanted.split(",")}
    if "0" in without or not is_tested():
        return []
    return [name for name in among if name not in without and features.fits(name)]


installed = tuple(select_patches(os.environ.get("BRANDED_PATCHES", "1")))
faster = tuple(select_patches(os.environ.get("BRANDED_PATCHES", "1"), FASTER))


def check_version() -> bool:
    """Return whether the tests cover the installed tinygrad, and warn if they do not."""
    return features.warn(version(), None if is_tested() else f"{TINYGRAD}x")


def module_of(name: str) -> str:
    return f"branded.{PATCHES.get(name) or FASTER[name]}"


def check_tinygrad() -> None:
    """Raise if tinygrad lacks names that the core needs, and warn if other features are off."""
    features.require("core", version())
    check_version()


EARLY = ("matching",)
"""The patches that must be installed before tinygrad first applies a rewrite rule."""


def install_early() -> None:
    for name in faster:
        if name in EARLY:
            importlib.import_module(module_of(name)).install()


def install_patches() -> None:
    os.environ.setdefault("PATH", os.defpath)  # tinygrad searches PATH for its libraries, and raises if it is not set
    for name in (*faster, *installed):
        if name not in EARLY:
            importlib.import_module(module_of(name)).install()
