"""Functions of arrays."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor

from branded import (
    argwhere,
    array,
    betaln,
    bincount,
    convolve,
    cross,
    digamma,
    erfinv,
    errors,
    fft,
    histogram,
    ifft,
    interp,
    irfft,
    kron,
    lgamma,
    logaddexp,
    median,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
    nonzero,
    outer,
    percentile,
    quantile,
    rfft,
    searchsorted,
    segment_max,
    segment_min,
    segment_prod,
    segment_sum,
    take_along_axis,
    top_k,
    trace,
    unique,
    vmap,
)
from tests.malformed import refused, right
from tests.malformed.values import HUGE, NASTY, NP, N, V, W, X, cyclic_list, escaped

Wrong, Bad, Axis = errors.OperandError, errors.ArgumentError, errors.AxisRangeError


ROWS = (
    refused("array: a string", lambda: array("a"), Wrong, "array: the array is the str 'a', not a tensor"),
    refused("array: None", lambda: array(None), Wrong, "array: the array is None, not a tensor"),
    refused(
        "array: a string in a list",
        lambda: array([[1, 2], [3, NASTY]]),
        Wrong,
        "array: entry [1][1] is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    refused("array: a dict", lambda: array([{"a": V}]), Wrong, "array: entry [0] is a dict, not a tensor"),
    refused("array: ragged", lambda: array([[1, 2], [3]]), Bad, "array: the entries have different shapes"),
    refused(
        "array: ragged below",
        lambda: array([[[1], [1, 2]]]),
        Bad,
        "array: the entries of entry [0] have different shapes",
    ),
    refused("array: tensors of two shapes", lambda: array([V, W]), Bad, "array: the entries have different shapes"),
    refused(
        "array: cyclic",
        lambda: array(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself, so there is no end of what is in it",
    ),
    refused("array: no dtype", lambda: array([1], dtype="int7"), Bad, "array: 'int7' is not a dtype"),
    refused(
        "array: escaped",
        lambda: array([escaped()]),
        errors.EscapeError,
        "array: entry [0]: this value belongs to `x`, which is closed",
    ),
    right("array: an array of numpy", lambda: array([NP, NP]).shape, (2, 3)),
    right("array: numpy's numbers", lambda: array([np.float32(1), np.int64(2)]).tolist(), [1.0, 2.0]),
    right("array: an int beyond 32 bits", lambda: array([2**40, 1], dtype="int64").tolist(), [2**40, 1]),
    right("array: empty lists", lambda: array([[], []]).shape, (2, 0)),
    refused("outer: a list", lambda: outer([1.0], V), Wrong, "outer: a is a list, not a tensor"),
    refused("outer: None", lambda: outer(V, None), Wrong, "outer: b is None, not a tensor"),
    refused(
        "outer: escaped",
        lambda: outer(V, escaped()),
        errors.EscapeError,
        "outer: b: this value belongs to `x`, which is closed",
    ),
    right("outer: a number", lambda: outer(2.0, V).shape, (1, 3)),
    right("outer: an array of numpy", lambda: outer(NP, V).shape, (3, 3)),
    refused(
        "kron: a string",
        lambda: kron(NASTY, V),
        Wrong,
        "kron: a is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    right("kron: numbers", lambda: kron(2, 3).item(), 6),
    refused(
        "cross: four components", lambda: cross(Tensor.ones(4), V), Bad, "cross: a vector has two or three components"
    ),
    refused("cross: a number", lambda: cross(2.0, V), Axis, "cross: axis -1 is out of range for f32[]"),
    refused("cross: no such axis", lambda: cross(V, V, axis=1), Axis, "cross: axis 1 is out of range for f32[3]"),
    refused(
        "cross: shapes",
        lambda: cross(Tensor.ones(2, 3), Tensor.ones(4, 3)),
        Bad,
        "cross: the shapes do not broadcast",
    ),
    refused("trace: a vector", lambda: trace(V), Axis, "trace: axis 1 is out of range for f32[3]"),
    refused(
        "trace: one axis twice", lambda: trace(Tensor.ones(2, 2), 0, 1, -1), Bad, "trace: axis1 and axis2 are both 1"
    ),
    refused("trace: a float offset", lambda: trace(Tensor.ones(2, 2), 0.5), Wrong, "trace: offset is the float 0.5"),
    refused("trace: a string", lambda: trace("a"), Wrong, "trace: a is the str 'a', not a tensor"),
    right("trace: an offset beyond all", lambda: trace(Tensor.ones(2, 2), HUGE).item(), 0.0),
    refused(
        "take_along_axis: floats",
        lambda: take_along_axis(V, V),
        Wrong,
        "take_along_axis: indices is f32[3], and not of ints",
    ),
    refused(
        "take_along_axis: a list",
        lambda: take_along_axis(V, [0]),
        Wrong,
        "take_along_axis: indices is a list, not a tensor",
    ),
    refused(
        "take_along_axis: ranks",
        lambda: take_along_axis(Tensor.ones(2, 3), N),
        Bad,
        "take_along_axis: arr and indices have different numbers of axes",
    ),
    refused(
        "take_along_axis: axis",
        lambda: take_along_axis(V, N, axis=1),
        Axis,
        "take_along_axis: axis 1 is out of range for f32[3]",
    ),
    refused(
        "take_along_axis: mode",
        lambda: take_along_axis(V, N, mode="wrap"),
        Bad,
        "take_along_axis: mode is the str 'wrap'",
    ),
    refused(
        "take_along_axis: fill",
        lambda: take_along_axis(V, N, fill_value="a"),
        Wrong,
        "take_along_axis: fill_value is the str 'a'",
    ),
    right("take_along_axis: of nothing", lambda: take_along_axis(V[:0], N[:0]).shape, (0,)),
    refused(
        "convolve: a matrix",
        lambda: convolve(Tensor.ones(2, 2), V),
        Bad,
        "convolve: two sequences with entries are convolved",
    ),
    refused("convolve: empty", lambda: convolve(V[:0], V), Bad, "convolve: two sequences with entries are convolved"),
    refused("convolve: mode", lambda: convolve(V, V, mode="ful"), Bad, "convolve: mode is the str 'ful'"),
    refused("convolve: None", lambda: convolve(V, None), Wrong, "convolve: v is None, not a tensor"),
    right("convolve: per example", lambda: vmap(convolve, in_axes=(0, None))(Tensor.ones(2, 3), V).shape, (2, 5)),
    refused("searchsorted: a matrix", lambda: searchsorted(X, V), Bad, "searchsorted: a is not a sequence"),
    refused(
        "searchsorted: side", lambda: searchsorted(V, V, side="middle"), Bad, "searchsorted: side is the str 'middle'"
    ),
    refused(
        "searchsorted: method", lambda: searchsorted(V, V, method="fast"), Bad, "searchsorted: method is the str 'fast'"
    ),
    refused("searchsorted: a list", lambda: searchsorted([1, 2], 1), Wrong, "searchsorted: a is a list, not a tensor"),
    right("searchsorted: a number", lambda: searchsorted(V, 2.5).item(), 2),
    refused("top_k: too many", lambda: top_k(V, 4), Bad, "top_k: k = 4 of 3 entries"),
    refused("top_k: below 0", lambda: top_k(V, -1), Bad, "top_k: k = -1 is below 0"),
    refused("top_k: a tensor of k", lambda: top_k(V, Tensor(2)), Wrong, "top_k: k is int[]"),
    refused("top_k: a number", lambda: top_k(2.0, 1), Axis, "top_k: axis -1 is out of range for float[]"),
    refused(
        "top_k: a string",
        lambda: top_k(NASTY, 1),
        Wrong,
        "top_k: operand is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    refused(
        "nonzero: no size", lambda: nonzero(V), Bad, "nonzero: size is not given, and a shape cannot depend on values"
    ),
    refused("nonzero: a number", lambda: nonzero(2.0, size=1), Bad, "nonzero: a number has no indices"),
    refused("nonzero: fill", lambda: nonzero(V, size=1, fill_value=0.5), Wrong, "nonzero: fill_value is the float 0.5"),
    refused(
        "nonzero: fills",
        lambda: nonzero(V, size=1, fill_value=(1, 2)),
        Bad,
        "nonzero: 2 numbers in fill_value for 1 axes",
    ),
    right("nonzero: of size 0", lambda: nonzero(V, size=0)[0].shape, (0,)),
    refused(
        "argwhere: no size",
        lambda: argwhere(V),
        Bad,
        "argwhere: size is not given, and a shape cannot depend on values",
    ),
    refused("argwhere: a size below 0", lambda: argwhere(V, size=-2), Bad, "argwhere: size = -2 is below 0"),
    refused(
        "unique: no size", lambda: unique(V), Bad, "unique: size is not given, and a shape cannot depend on values"
    ),
    refused("unique: a float", lambda: unique(V, size=2.0), Wrong, "unique: size is the float 2.0"),
    refused(
        "unique: of nothing", lambda: unique(V[:0], size=1), Bad, "unique: there are no entries to fill the result with"
    ),
    right("unique: of size 0", lambda: unique(V, size=0).shape, (0,)),
    refused(
        "segment_sum: no number",
        lambda: segment_sum(V, N),
        Bad,
        "segment_sum: num_segments is not given, and a shape cannot depend on values",
    ),
    refused(
        "segment_sum: floats",
        lambda: segment_sum(V, V, 3),
        Wrong,
        "segment_sum: segment_ids is f32[3], and not of ints",
    ),
    refused(
        "segment_sum: lengths",
        lambda: segment_sum(X, N[:2], 3),
        Bad,
        "segment_sum: segment_ids does not have one int for each entry of data",
    ),
    refused(
        "segment_sum: a number",
        lambda: segment_sum(1.0, N, 3),
        Bad,
        "segment_sum: segment_ids does not have one int for each entry of data",
    ),
    refused(
        "segment_prod: ids", lambda: segment_prod(V, None, 3), Wrong, "segment_prod: segment_ids is None, not a tensor"
    ),
    refused("segment_max: below 0", lambda: segment_max(V, N, -3), Bad, "segment_max: num_segments = -3 is below 0"),
    refused(
        "segment_min: a list", lambda: segment_min([1, 2], N, 3), Wrong, "segment_min: data is a list, not a tensor"
    ),
    right("segment_sum: bools", lambda: segment_sum(V, V > 1, 2).tolist(), [1.0, 5.0]),
    refused(
        "bincount: no length",
        lambda: bincount(N),
        Bad,
        "bincount: length is not given, and a shape cannot depend on values",
    ),
    refused("bincount: floats", lambda: bincount(V, length=2), Wrong, "bincount: x is f32[3], and not of ints"),
    refused(
        "bincount: a matrix",
        lambda: bincount(X.int(), length=2),
        Bad,
        "bincount: x and weights are not two sequences of one length",
    ),
    refused(
        "bincount: weights",
        lambda: bincount(N, W, length=2),
        Bad,
        "bincount: x and weights are not two sequences of one length",
    ),
    refused("histogram: bins", lambda: histogram(V, bins=0), Bad, "histogram: bins = 0 is below 1"),
    refused("histogram: one edge", lambda: histogram(V, bins=V[:1]), Bad, "histogram: bins are not edges"),
    refused("histogram: range", lambda: histogram(V, range=3), Wrong, "histogram: range is the int 3"),
    refused(
        "histogram: weights", lambda: histogram(V, weights=W), Bad, "histogram: weights does not have the shape of a"
    ),
    right("histogram: of nothing", lambda: histogram(V[:0], 2)[0].tolist(), [0.0, 0.0]),
    refused("quantile: beyond 1", lambda: quantile(V, 1.5), Bad, "quantile: q = 1.5 is out of range"),
    refused("quantile: nan", lambda: quantile(V, float("nan")), Bad, "quantile: q = nan is out of range"),
    refused("quantile: a matrix of q", lambda: quantile(V, X), Bad, "quantile: q has more than one axis"),
    refused("quantile: method", lambda: quantile(V, 0.5, method="mean"), Bad, "quantile: method is the str 'mean'"),
    refused("quantile: axis", lambda: quantile(V, 0.5, axis=1), Axis, "quantile: axis 1 is out of range for f32[3]"),
    refused(
        "quantile: an axis twice",
        lambda: quantile(X, 0.5, axis=(0, -2)),
        errors.AxesError,
        "quantile: an axis is named twice",
    ),
    refused("quantile: of nothing", lambda: quantile(V[:0], 0.5), Bad, "quantile: there are no entries"),
    refused("percentile: beyond 100", lambda: percentile(V, 101), Bad, "percentile: q = 101 is out of range"),
    refused("nanquantile: None", lambda: nanquantile(V, None), Wrong, "nanquantile: q is None, not a tensor"),
    refused("median: a string", lambda: median("a"), Wrong, "median: a is the str 'a', not a tensor"),
    refused("nanmedian: of nothing", lambda: nanmedian(V[:0]), Bad, "nanmedian: there are no entries"),
    right("median: a number", lambda: median(2).item(), 2.0),
    refused("nansum: a list", lambda: nansum([1.0]), Wrong, "nansum: a is a list, not a tensor"),
    right("nansum: of nothing", lambda: nansum(V[:0]).item(), 0.0),
    right("nansum: over no axis", lambda: nansum(V, axis=()).tolist(), [1.0, 2.0, 3.0]),
    refused("nanmean: axis", lambda: nanmean(V, axis=2), Axis, "nanmean: axis 2 is out of range for f32[3]"),
    refused("nanmax: of nothing", lambda: nanmax(V[:0]), Bad, "nanmax: there are no entries"),
    refused(
        "nanmin: a string axis", lambda: nanmin(V, axis="a"), errors.AxisTypeError, "nanmin: the str 'a' is not an axis"
    ),
    refused("nanvar: ddof", lambda: nanvar(V, ddof=0.5), Wrong, "nanvar: ddof is the float 0.5"),
    refused(
        "nanstd: escaped",
        lambda: nanstd(escaped()),
        errors.EscapeError,
        "nanstd: a: this value belongs to `x`, which is closed",
    ),
    refused(
        "interp: lengths", lambda: interp(0.5, V, W), Bad, "interp: the points are not two sequences of one length"
    ),
    refused(
        "interp: of nothing",
        lambda: interp(0.5, V[:0], V[:0]),
        Bad,
        "interp: the points are not two sequences of one length",
    ),
    refused("interp: left", lambda: interp(0.5, V, V, left="wrap"), Bad, "interp: left is the str 'wrap'"),
    refused("interp: period 0", lambda: interp(0.5, V, V, period=0), Bad, "interp: the period is 0"),
    refused("interp: period", lambda: interp(0.5, V, V, period="a"), Wrong, "interp: period is the str 'a'"),
    right("interp: a number", lambda: interp(1.5, V, V).item(), 1.5),
    refused("fft: three parts", lambda: fft((V, V, V)), Wrong, "fft: a is a tuple of 3"),
    refused("fft: parts", lambda: fft((V, W)), Bad, "fft: the parts have different shapes"),
    refused("fft: norm", lambda: fft(V, norm="unit"), Bad, "fft: norm is the str 'unit'"),
    refused("fft: of 0", lambda: fft(V, n=0), Bad, "fft: n = 0 is below 1"),
    refused("fft: of nothing", lambda: fft(V[:0]), Bad, "fft: n = 0 is below 1"),
    refused("fft: a number", lambda: fft(2.0), Axis, "fft: axis -1 is out of range for f32[]"),
    refused(
        "ifft: a string",
        lambda: ifft(NASTY),
        Wrong,
        "ifft: a is the str 'two\\nlines \\'single\\' \"double\" <b>b..., not a tensor",
    ),
    refused("rfft: a pair", lambda: rfft((V, V)), Wrong, "rfft: a is a tuple"),
    refused("irfft: of one", lambda: irfft((V[:1], V[:1])), Bad, "irfft: n = 0 is below 1"),
    right("irfft: a tensor", lambda: irfft(V).shape, (4,)),
    refused("lgamma: None", lambda: lgamma(None), Wrong, "lgamma: x is None, not a tensor"),
    refused("digamma: a list", lambda: digamma([1.0]), Wrong, "digamma: x is a list, not a tensor"),
    refused("betaln: shapes", lambda: betaln(V, W), Bad, "betaln: the shapes do not broadcast"),
    refused("logaddexp: shapes", lambda: logaddexp(V, W), Bad, "logaddexp: the shapes do not broadcast"),
    refused("erfinv: a dict", lambda: erfinv({}), Wrong, "erfinv: x is a dict, not a tensor"),
    right("lgamma: an int", lambda: lgamma(1).item(), 0.0),
)
