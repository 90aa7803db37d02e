"""Functions of arrays that tinygrad's `Tensor` does not have: names and meanings are those of `jax.numpy`.

They are functions of one example, typed by rows, as all else here: under vmap each is what a loop gives.  Dtypes are
those that tinygrad's methods give: `branded.functions.outer(i8, f16)` is of the dtype of `i8 * f16`.  Their modules are
imported at the first use of one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from branded.functions.arrays import array, convolve, cross, kron, outer, take_along_axis, trace
    from branded.functions.counts import bincount, histogram, segment_max, segment_min, segment_prod, segment_sum
    from branded.functions.fourier import fft, ifft, irfft, rfft
    from branded.functions.interpolation import interp
    from branded.functions.search import argwhere, nonzero, searchsorted, top_k, unique
    from branded.functions.special import betaln, digamma, erfinv, lgamma, logaddexp
    from branded.functions.statistics import (
        median,
        nanmax,
        nanmean,
        nanmedian,
        nanmin,
        nanquantile,
        nanstd,
        nansum,
        nanvar,
        percentile,
        quantile,
    )

__all__ = [
    "argwhere",
    "array",
    "betaln",
    "bincount",
    "convolve",
    "cross",
    "digamma",
    "erfinv",
    "fft",
    "histogram",
    "ifft",
    "interp",
    "irfft",
    "kron",
    "lgamma",
    "logaddexp",
    "median",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "nonzero",
    "outer",
    "percentile",
    "quantile",
    "rfft",
    "searchsorted",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "take_along_axis",
    "top_k",
    "trace",
    "unique",
]

_MODULES = {
    "arrays": (
        "array",
        "take_along_axis",
        "outer",
        "kron",
        "cross",
        "trace",
        "convolve",
    ),
    "search": (
        "searchsorted",
        "top_k",
        "nonzero",
        "argwhere",
        "unique",
    ),
    "counts": (
        "segment_sum",
        "segment_prod",
        "segment_max",
        "segment_min",
        "bincount",
        "histogram",
    ),
    "statistics": (
        "quantile",
        "percentile",
        "nanquantile",
        "median",
        "nanmedian",
        "nansum",
        "nanmax",
        "nanmin",
        "nanmean",
        "nanvar",
        "nanstd",
    ),
    "interpolation": ("interp",),
    "fourier": (
        "fft",
        "ifft",
        "rfft",
        "irfft",
    ),
    "special": (
        "lgamma",
        "digamma",
        "betaln",
        "logaddexp",
        "erfinv",
    ),
}
WHERE = {name: f"branded.functions.{module}" for module, names in _MODULES.items() for name in names}
"""The module of each function."""

if not TYPE_CHECKING:  # checkers would take any name for one that it gives

    def __getattr__(name: str) -> Any:
        if name not in WHERE:
            raise AttributeError(f"module 'branded.functions' has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(WHERE[name]), name)
        return found
