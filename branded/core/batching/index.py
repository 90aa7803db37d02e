"""Entering a brand (INDEX), leaving a brand (STAGE), and stacking values (STACK)."""

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.core.analysis.invariance import invariant_slice
from branded.core.batching.unsupported import refuse
from branded.core.boundary import stage
from branded.dispatch import Resolution, rule
from branded.graph.primitive import Batched
from branded.graph.scope import brand_of, scope_at
from branded.graph.uops import again, expand, lead
from branded.tinygrad_compat.private_api import reduce_axes


@rule(Ops.INDEX)
def index(u: UOp, resolution: Resolution, x: Batched, *indices: Batched) -> UOp:
    """vmap(x -> x)(xs) = xs: the axis that the brand indexes becomes the brand axis."""
    if not any(a.row or brand_of(a.uop) is not None for a in indices):
        return _at_own(x, indices)
    if len(indices) != 1 or indices[0].uop.op is not Ops.RANGE:
        raise refuse(u, "INDEX: indexing by a UOp has no batching rule", "index the Tensor with a Tensor", x, *indices)
    n = len(x.row)
    if not indices[0].row:  # a brand that stays open: index the axis after the brand axes
        return u.replace(src=(lead(x.uop, (n, *range(n))), u.src[1]))
    if indices[0].row[0] in x.row:  # each example takes its own entry
        if (one := invariant_slice(x.uop, n)) is not None:
            return one
        return _diagonal(x.uop, x.row.index(indices[0].row[0]), n)
    if not x.row:  # the leading axis
        return x.uop
    where = resolution.row.index(indices[0].row[0])
    return lead(x.uop, (*range(where), n, *range(where, n)))


def _at_own(x: Batched, indices: tuple[Batched, ...]) -> UOp:
    """Index by a UOp that is not a brand.  It is a masked sum, because tinygrad's INDEX accepts only buffers."""
    n, out = len(x.row), x.uop
    for a in indices:
        size, rank = out.shape[n], len(out.shape)
        mask = UOp.arange(size).eq(a.uop).reshape((size, *(1,) * (rank - n - 1)))
        out = reduce_axes(mask.where(out, out.const_like(0)), Ops.MAX if out.dtype == dtypes.bool else Ops.ADD, (n,))
    return out


def _diagonal(x: UOp, a: int, b: int) -> UOp:
    """Return the diagonal of the axes `a` and `b` as axis `a`, by movement operations alone."""
    if isinstance(x.device, tuple) and x.axis in (a, b):
        return _of_parts(x, a, b)
    size, rank = x.shape[a], len(x.shape)
    others = [i for i in range(rank) if i not in (a, b)]
    flat = x.permute((a, b, *others)).reshape((size * size, *(x.shape[i] for i in others)))
    rows = flat.pad(((0, size), *((0, 0) for _ in others))).reshape((size, size + 1, *flat.shape[1:]))
    diagonal = rows.shrink(((0, size), (0, 1), *((0, s) for s in flat.shape[1:]))).reshape((size, *flat.shape[1:]))
    axes = [a, *others]
    out: UOp = diagonal.permute(tuple(axes.index(i) for i in range(rank) if i != b))
    return out


def _of_parts(x: UOp, a: int, b: int) -> UOp:
    """Return the diagonal of a value that is sharded along `a` or `b`: tinygrad cannot pad along a sharded axis.

    Each device selects its own block along the other axis, and takes the diagonal there.  For f32[4, 4] on two devices:

        0 1 . .      of the first [[0, 1], [2, 3]], whose diagonal is [0, 3]
        2 3 . .
        . . 4 5      of the second [[4, 5], [6, 7]], whose diagonal is [4, 7]
        . . 6 7
    """
    devices, size = len(x.device), x.shape[a]
    others = [i for i in range(len(x.shape)) if i not in (a, b)]
    rest = tuple(x.shape[i] for i in others)
    each = (devices, size // devices)
    parts = x.permute((a, b, *others) if x.axis == a else (b, a, *others)).reshape((*each, *each, *rest))
    number = UOp.arange(devices).reshape((devices, *(1,) * (2 + len(rest))))

    def beside(i: int) -> UOp:
        bounds = tuple((i, i + 1) if k == 2 else (0, s) for k, s in enumerate(parts.shape))
        out: UOp = parts.shrink(bounds).reshape((*each, each[1], *rest))
        return out

    blocks = beside(0)
    for i in range(1, devices):
        blocks = number.eq(i).where(beside(i), blocks)
    axes = [a, *others]
    out: UOp = _diagonal(blocks, 1, 2).reshape((size, *rest))
    return out.permute(tuple(axes.index(i) for i in range(len(x.shape)) if i != b))


@rule(Ops.STAGE)
def stage_rule(u: UOp, resolution: Resolution, y: Batched, brand: Batched) -> UOp:
    """vmap(f)(xs) has the brand's axis in front of the per-example axes of f(x)."""
    n = len(y.row)
    if not brand.row:  # a brand that stays open: its axis comes after the axes of closed brands
        return lead(stage(y.uop, scope_at(u)), (*range(1, n + 1), 0))
    (b,) = brand.row
    if b not in y.row:  # the same for all examples
        return lead(expand(y.uop, (b.size,)), (*range(1, n + 1), 0))
    where = y.row.index(b)
    return lead(y.uop, (*(i for i in range(n) if i != where), where))


@rule(Ops.STACK)
def stack(u: UOp, resolution: Resolution, *xs: Batched) -> UOp:
    """vmap(stack)(xs, ys) = stack(xs, ys), with the brand axes moved in front of the new one."""
    if not resolution.is_zip and any(len(b.devices) > 1 for b in resolution.row):
        return _stack_with_where(resolution, xs)
    return lead(again(u, *[resolution.fill(x) for x in xs]), (*range(1, len(resolution.row) + 1), 0))


def _stack_with_where(resolution: Resolution, xs: tuple[Batched, ...]) -> UOp:
    """Stack elementwise with `where` on several devices: `stack` of tinygrad 0.14 treats a shared value as a shard."""
    n, rank = len(resolution.row), len(xs[0].uop.shape) - len(xs[0].row)
    parts = []
    for x in xs:
        brands = tuple(b.size if b in x.row else 1 for b in resolution.row)
        parts.append(x.uop.reshape((*brands, 1, *x.uop.shape[len(x.row) :])))
    number, out = UOp.arange(len(xs)).reshape((*(1,) * n, len(xs), *(1,) * rank)), parts[0]
    for i, part in enumerate(parts[1:], 1):
        out = number.eq(i).where(part, out)
    return out
