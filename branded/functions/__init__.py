"""Functions of `jax.numpy` that tinygrad's `Tensor` does not have.

Each is written for one example; under `vmap` it gives the same results as a loop over the examples.  Dtypes are
promoted as in tinygrad's methods: `branded.functions.outer(i8, f16)` has the dtype of `i8 * f16`.
"""

from branded.core.entry import publish
from branded.functions.arrays import array, convolve, cross, kron, outer, take_along_axis, trace
from branded.functions.counts import bincount, histogram, segment_max, segment_min, segment_prod, segment_sum
from branded.functions.fourier import fft, ifft, irfft, rfft
from branded.functions.indexing import (
    dynamic_slice,
    dynamic_update_slice,
    index_add,
    index_max,
    index_min,
    index_mul,
    index_update,
)
from branded.functions.interpolation import interp
from branded.functions.quantiles import median, nanmedian, nanquantile, percentile, quantile
from branded.functions.search import argwhere, nonzero, searchsorted, top_k, unique
from branded.functions.special import betaln, digamma, erfinv, lgamma, logaddexp
from branded.functions.statistics import nanmax, nanmean, nanmin, nanstd, nansum, nanvar

__all__ = [
    "argwhere",
    "array",
    "betaln",
    "bincount",
    "convolve",
    "cross",
    "digamma",
    "dynamic_slice",
    "dynamic_update_slice",
    "erfinv",
    "fft",
    "histogram",
    "ifft",
    "index_add",
    "index_max",
    "index_min",
    "index_mul",
    "index_update",
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

publish(__name__, __all__)
