"""Reductions over axes, with and without `keepdim`; running reductions; sorting."""

from tinygrad import dtypes

from ..table import bools, family, index, ints, real, special
from .closures import K, V

case = family("Reductions")

for name in ("sum", "mean", "max", "min", "var", "std", "prod"):
    case(
        f"{name} over each choice of axes",
        name,
        lambda x, name=name: (getattr(x, name)(), getattr(x, name)(1), getattr(x, name)(-1), getattr(x, name)((0, 2))),
        real(2, 3, 2),
    )
    case(
        f"{name} with keepdim",
        name,
        lambda x, name=name: (getattr(x, name)(keepdim=True), getattr(x, name)((-1, 0), keepdim=True)),
        real(2, 3, 2),
    )
case(
    "logsumexp",
    "logsumexp",
    lambda x: (x.logsumexp(), x.logsumexp(1), x.logsumexp((0, 2), keepdim=True)),
    real(2, 3, 2),
)
for name in ("any", "all"):
    case(
        f"{name} over each choice of axes",
        name,
        lambda x, name=name: (getattr(x, name)(), getattr(x, name)(0), getattr(x, name)((0, 1), keepdim=True)),
        bools(2, 3, 2),
    )
for name in ("argmax", "argmin"):
    case(
        f"{name} over each choice of axes",
        name,
        lambda x, name=name: (getattr(x, name)(), getattr(x, name)(0), getattr(x, name)(-1, keepdim=True)),
        real(3, 4),
    )
    case(f"{name} of ties", name, lambda i, name=name: (getattr(i, name)(), getattr(i, name)(1)), index(2, 4, high=2))
case("variance with correction", "var std", lambda x: (x.var(correction=0), x.std(0, correction=2)), real(3, 4))
case("variance and mean at once", "var_mean std_mean", lambda x: (*x.var_mean(), *x.std_mean(1, True)), real(3, 4))
case(
    "reductions of integers",
    "sum max min prod mean any all",
    lambda i: (i.sum(0), i.max(), i.min(1), i.prod(), i.mean(), i.any(), i.all(0)),
    ints(3, 2),
)
case("reductions with NaN", "max sum any argmax", lambda x: (x.max(), x.sum(), x.any(), x.isnan().argmax()), special(4))
case("reductions of a scalar", "sum max mean", lambda x: (x.sum(), x.max(), x.mean()), real())
case(
    "reductions of nothing", "sum prod any all", lambda x: (x.sum(), x.sum(1), x.prod(0), x.any(), x.all()), real(0, 3)
)
case("reduction of a reduction", "sum max mean min", lambda x: x.sum(0).max() + x.mean(1).min() + x.sum(), real(3, 4))
case("centering", "mean sum", lambda x: (x - x.mean(0), x / x.sum((0, 1), keepdim=True)), real(3, 4))
case("reduction with a closure", "sum max __mul__", lambda x: ((V * x).sum(), (K + x).max(0), (x - K).sum(1)), real(4))
case("reduction of a closure", "sum __mul__", lambda x: V.sum() * x + K.max(0), real(4))

case(
    "normalize", "normalize", lambda x: (x.normalize(), x.normalize(p=1, dim=0), x.normalize(p=3.0, dim=-1)), real(3, 4)
)
case("normalize by the count", "normalize", lambda i: i.float().normalize(p=0, dim=0), index(3, 4))

case("cumsum", "cumsum", lambda x: (x.cumsum(), x.cumsum(1), x.cumsum(-1)), real(3, 4))
case(
    "cumsum in two stages",
    "cumsum sum",
    lambda i: i.cumsum().reshape(-1, 5).sum(0),
    index(515),
    modes=("zip", "nested"),
)
case("cumprod", "cumprod", lambda x: (x.cumprod(0), x.cumprod(-1)), real(3, 4))
case("cummax", "cummax", lambda x: (*x.cummax(), *x.cummax(1)), real(3, 4))
case("cummin", "cummin", lambda i: (*i.cummin(0), *i.cummin(-1)), ints(3, 4))
case("logcumsumexp", "logcumsumexp", lambda x: (x.logcumsumexp(), x.logcumsumexp(1)), real(3, 4))
case(
    "running reductions of a scalar",
    "cumsum cummax logcumsumexp",
    lambda x: (x.cumsum(0), x.cummax(0)[0], x.logcumsumexp(0)),
    real(),
)

case("sort", "sort", lambda x: x.sort(), real(5))
case("sort, descending", "sort", lambda x: x.sort(descending=True), real(5))
case("sort along axis 0", "sort", lambda x: x.sort(dim=0), real(3, 2))
case("sort with ties", "sort", lambda i: i.sort(dim=1), index(2, 4, high=2))
case("sort of one", "sort", lambda x: x.sort(), real(1))
case("sort of a closure by x", "sort __getitem__", lambda x: V[x.sort()[1]], real(4))
case("argsort", "argsort", lambda x: (x.argsort(), x.argsort(dim=0, descending=True)), real(3, 2))
case("rank by argsort twice", "argsort", lambda x: x.argsort().argsort(), real(4))
case("topk", "topk", lambda x: (*x.topk(2), *x.topk(3, largest=False)), real(5))
case("topk along axis 0", "topk", lambda x: x.topk(1, dim=0), real(3, 2))
case("sort of int8", "sort", lambda i: i.sort(), ints(4, dtype=dtypes.int8))
case("argsort of float16", "argsort", lambda x: x.argsort(), real(4, dtype=dtypes.float16))
