"""Functions of arrays: results have the brands of all arguments."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import (
    Brand,
    Vec,
    argwhere,
    array,
    betaln,
    bincount,
    convolve,
    cross,
    digamma,
    dynamic_slice,
    dynamic_update_slice,
    erfinv,
    fft,
    histogram,
    ifft,
    index_add,
    index_update,
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

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
S3 = TypeVar("S3", bound=Brand)
x = Tensor([1.0, 2.0])


# --- functions of two rows
def two_rows(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(outer(a, b), Vec[S1 | S2])
    assert_type(kron(a, b), Vec[S1 | S2])
    assert_type(cross(a, b), Vec[S1 | S2])
    assert_type(convolve(a, b, mode="same"), Vec[S1 | S2])
    assert_type(take_along_axis(a, b, axis=0), Vec[S1 | S2])


# --- slices and updates at an index with a row of its own
def indexed(a: Vec[S1], b: Vec[S2], c: Vec[S3]) -> None:
    assert_type(dynamic_slice(a, b, (2,)), Vec[S1 | S2])
    assert_type(dynamic_slice(a, (b, 0), (2, 2)), Vec[S1 | S2])
    assert_type(dynamic_slice(a, (b, c), (2, 2)), Vec[S1 | S2 | S3])
    assert_type(dynamic_update_slice(a, b, (c, 0)), Vec[S1 | S2 | S3])
    assert_type(index_update(a, b, c), Vec[S1 | S2 | S3])
    assert_type(index_add(a, (b, slice(None)), 1.0), Vec[S1 | S2])
    assert_type(index_add(a, 0, 1.0), Vec[S1])
    assert_type(index_add(a, (..., 1), b), Vec[S1 | S2])


# --- places and counts of two rows
def counted(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(searchsorted(a, b), Vec[S1 | S2])
    assert_type(searchsorted(a, 2.0), Vec[S1])
    assert_type(segment_sum(a, b, 3), Vec[S1 | S2])
    assert_type(segment_prod(a, b, 3), Vec[S1 | S2])
    assert_type(segment_max(a, b, num_segments=3), Vec[S1 | S2])
    assert_type(segment_min(a, b, num_segments=3), Vec[S1 | S2])
    assert_type(bincount(a, length=3), Vec[S1])
    assert_type(bincount(a, b, length=3), Vec[S1 | S2])
    assert_type(histogram(a), tuple[Vec[S1], Vec[S1]])
    assert_type(histogram(a, bins=b)[0], Vec[S1 | S2])
    assert_type(quantile(a, b), Vec[S1 | S2])
    assert_type(quantile(a, 0.5, method="lower"), Vec[S1])
    assert_type(percentile(a, b, axis=0), Vec[S1 | S2])
    assert_type(nanquantile(a, b), Vec[S1 | S2])
    assert_type(betaln(a, b), Vec[S1 | S2])
    assert_type(logaddexp(a, b), Vec[S1 | S2])
    assert_type(logaddexp(0.0, b), Vec[S2])


# --- a line has the rows of its points
def line(x: Vec[S1], xp: Vec[S2], fp: Vec[S3]) -> None:
    assert_type(interp(x, xp, fp), Vec[S1 | S2 | S3])


# --- reductions of one row
def reduced(a: Vec[S]) -> None:
    assert_type(median(a), Vec[S])
    assert_type(nanmedian(a, axis=(0, 1)), Vec[S])
    assert_type(nansum(a), Vec[S])
    assert_type(nanmean(a), Vec[S])
    assert_type(nanmax(a, axis=0, keepdims=True), Vec[S])
    assert_type(nanmin(a), Vec[S])
    assert_type(nanvar(a, ddof=1), Vec[S])
    assert_type(nanstd(a), Vec[S])
    assert_type(lgamma(a), Vec[S])
    assert_type(digamma(a), Vec[S])
    assert_type(erfinv(a), Vec[S])


# --- several results of one row
def several(a: Vec[S]) -> None:
    assert_type(top_k(a, 3), tuple[Vec[S], Vec[S]])
    assert_type(nonzero(a, size=2), tuple[Vec[S], ...])
    assert_type(argwhere(a, size=2), Vec[S])
    assert_type(unique(a, size=2), Vec[S])
    assert_type(unique(a, axis=0, size=2, fill_value=0), Vec[S])
    assert_type(unique(a, return_counts=True, size=2), tuple[Vec[S], ...])


# --- pairs
def pairs(a: Vec[S]) -> None:
    assert_type(fft(a), tuple[Vec[S], Vec[S]])
    assert_type(ifft(fft(a)), tuple[Vec[S], Vec[S]])
    assert_type(rfft(a, n=4), tuple[Vec[S], Vec[S]])
    assert_type(irfft(rfft(a)), Vec[S])


# --- functions of one row
def one_row(a: Vec[S]) -> None:
    assert_type(trace(a), Vec[S])
    assert_type(outer(a, a), Vec[S])
    assert_type(outer(a, 2.0), Vec[S])
    assert_type(outer(x, a), Vec[S])


# --- an array has the rows of all its entries
def nested(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(array(a), Vec[S1])
    assert_type(array([a, 0, 1.5]), Vec[S1])
    assert_type(array([[a, 0], [1, 2]]), Vec[S1])
    assert_type(array([a, b]), Vec[S1 | S2])
    assert_type(array([[a, 0.5], [1, b]]), Vec[S1 | S2])


# --- functions of plain tensors
assert_type(outer(x, x), Tensor)
assert_type(trace(Tensor.eye(2)), Tensor)
assert_type(dynamic_slice(x, (0,), (1,)), Tensor)
assert_type(index_update(x, slice(1), 0.0), Tensor)
assert_type(array([1.0, 2.0]), Tensor)
assert_type(median(x), Tensor)
assert_type(top_k(x, 1), tuple[Tensor, Tensor])
assert_type(unique(x, size=2), Tensor)
assert_type(rfft(x), tuple[Tensor, Tensor])
assert_type(irfft(rfft(x)), Tensor)
assert_type(array([[x.sum(), 0], [1, 2]]), Tensor)


# --- functions in a mapped function
assert_type(vmap(lambda a: array([[a, 0], [1, 2]]))(x), Tensor)
assert_type(vmap(lambda a, b: outer(a, b))(x, x), Tensor)
assert_type(vmap(lambda a: index_update(x, a.int(), a))(x), Tensor)
assert_type(vmap(lambda a: vmap(lambda b: array([a, b]))(x))(x), Tensor)


# --- results of a size that is given
def sized(a: Vec[S]) -> None:
    assert_type(a.nonzero(size=2), Vec[S])
    assert_type(a.masked_select(a > 0, 2), Vec[S])
