"""QR by reflections, eigenvalues and singular values by rotations, as loops of tinygrad operations for any device."""

from __future__ import annotations

import math
from collections.abc import Callable

from tinygrad import Tensor, dtypes

from branded.control_flow.loops import scan, while_loop
from branded.linalg.elimination import at_axis, identity, positions, zeros
from branded.linalg.primitive import matrix_transpose


def qr(a: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the full `q` and `r`, with the signs of LAPACK.

    Source: Householder reflections, as in LAPACK's `geqrf` and `larfg`.
    """
    m, n = a.shape[-2:]

    def step(carry: tuple[Tensor, Tensor], j: Tensor) -> tuple[tuple[Tensor, Tensor], None]:
        q, r = carry
        here, below = at_axis(m, j), Tensor.arange(m) > j
        column = at_axis(n, j).where(r, 0).sum(-1)
        head = here.where(column, 0).sum(-1, keepdim=True)
        tail = below.where(column, 0)
        rest = norm(tail)
        size = _hypotenuse(head, rest)
        flat = rest.eq(0)  # nothing to eliminate in this column
        pivot = (head < 0).where(size, -size)
        v = here.where(1, tail / flat.where(1, head - pivot))
        tau = flat.where(0, (pivot - head) / flat.where(1, pivot))
        w = (tau * v).unsqueeze(-1)
        row = v.unsqueeze(-2)
        reflected = r - w @ (row @ r)
        clean = (below.unsqueeze(-1) & at_axis(n, j)).where(0, reflected)
        return (q - (q @ v.unsqueeze(-1)) @ matrix_transpose(w), clean), None

    steps = positions(a, min(m, n))
    if m == 1:
        return identity(a[..., :1]), a + 0
    start = (identity(_square(a, m)), a + 0)
    q, r = scan(step, start, steps)[0]
    return q, r


def _square(a: Tensor, n: int) -> Tensor:
    """Return a tensor with n rows and columns that is made from `a`."""
    return a[..., :1, :1].expand(*a.shape[:-2], n, n)


def norm(x: Tensor) -> Tensor:
    """Compute the length of each vector without overflow."""
    scale = x.abs().max(-1, keepdim=True)
    by = scale.eq(0).where(1, scale)
    return (x / by).square().sum(-1, keepdim=True).sqrt() * scale


def _hypotenuse(a: Tensor, b: Tensor) -> Tensor:
    """Compute sqrt(a² + b²) without overflow."""
    large, small = a.abs().maximum(b.abs()), a.abs().minimum(b.abs())
    ratio = small / large.eq(0).where(1, large)
    return large * (1 + ratio.square()).sqrt()


def _next_pairs(x: Tensor, axis: int) -> Tensor:
    """Permute to the pairs of the next round of a round-robin tournament, where k is paired with k + h.

    0 1 2      the first stays; all others      0 3 1
    3 4 5      go around by one place           4 5 2
    """
    h = x.shape[axis] // 2
    if h == 1:
        return x
    top, bottom = x.split(h, axis)
    first, others = top.split([1, h - 1], axis)
    second, below = bottom.split([1, h - 1], axis)
    parts = [first, second]
    if h > 2:
        middle, last = others.split([h - 2, 1], axis)
        parts += [middle, below, last]
    else:
        parts += [below, others]
    return parts[0].cat(*parts[1:], dim=axis)


def _rotate_pairs(x: Tensor, c: Tensor, s: Tensor) -> Tensor:
    """Rotate the two columns of each pair."""
    top, bottom = x.split(x.shape[-1] // 2, -1)
    return (c * top - s * bottom).cat(s * top + c * bottom, dim=-1)


def _rotation(p: Tensor, q: Tensor, off: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the cosine and sine of the rotation that zeroes `off` in [[p, off], [off, q]]."""
    none = off.eq(0)
    slope = (q - p) / (2 * none.where(1, off))
    sign = (slope < 0).where(-1, slope.const_like(1))
    t = none.where(0, sign / (slope.abs() + _hypotenuse(slope, slope.const_like(1))))
    c = 1 / (1 + t.square()).sqrt()
    return c, t * c


def _even(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Pad axes of odd size with zeros: the column paired with the padding is left unchanged."""
    pads = [(0, x.shape[i] % 2) if i - x.ndim in axes else (0, 0) for i in range(x.ndim)]
    return x.pad(tuple(pads))


def epsilon(x: Tensor) -> float:
    """Return the distance from 1 to the next float."""
    return 2.0 ** -dtypes.finfo(x.dtype)[1]


SWEEPS = 30
"""The maximum number of sweeps; rotations converge quadratically, in about ten sweeps."""


Pair = tuple[Tensor, Tensor]


def _sweeps(state: Pair, step: Callable[[Pair], Pair], steps: int, is_unfinished: Callable[[Pair], Tensor]) -> Pair:
    """Repeat sweeps over all pairs of columns until nothing is left to rotate."""

    def sweep(carry: tuple[Tensor, Pair]) -> tuple[Tensor, Pair]:
        count, now = carry
        return count + 1, scan(lambda c, _: (step(c), None), now, None, length=steps)[0]

    def go(carry: tuple[Tensor, Pair]) -> Tensor:
        count, now = carry
        return (count < SWEEPS) & is_unfinished(now)

    begun = (state[0].flatten()[0] < -math.inf).cast(dtypes.int32)
    return while_loop(go, sweep, (begun, state))[1]


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    """Compute eigenvalues in ascending order, and eigenvectors, from the lower half of `a`.

    Source: C. Jacobi (1846), as in G. Golub, C. Van Loan, "Matrix computations" (1996), 8.4, in rounds of
    independent pairs.
    """
    n = a.shape[-1]
    if n == 1:
        return a[..., 0], identity(a)
    x = a.tril() + matrix_transpose(a.tril(-1))
    scale = x.abs().max((-2, -1), keepdim=True)
    x = _even(x / scale.eq(0).where(1, scale), (-1, -2))
    v, h = _even(identity(a), (-1,)), (n + 1) // 2

    def step(carry: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, v = carry
        on = x.diagonal(dim1=-2, dim2=-1)
        c, s = _rotation(on[..., :h], on[..., h:], x[..., :h, h:].diagonal(dim1=-2, dim2=-1))
        c, s = c.unsqueeze(-2), s.unsqueeze(-2)
        half = _rotate_pairs(matrix_transpose(_rotate_pairs(x, c, s)), c, s)
        return _next_pairs(_next_pairs(half, half.ndim - 1), half.ndim - 2), _next_pairs(
            _rotate_pairs(v, c, s), v.ndim - 1
        )

    def left(carry: tuple[Tensor, Tensor]) -> Tensor:
        x = carry[0]
        off = Tensor.eye(x.shape[-1], dtype=dtypes.bool).where(0, x).abs()
        return off.max() > epsilon(x) / 4

    x, v = _sweeps((x, v), step, 2 * h - 1, left)
    w = x.diagonal(dim1=-2, dim2=-1)[..., :n] * scale.squeeze(-1)
    return _by_size(w, matrix_transpose(v[..., :n]))


def _by_size(w: Tensor, rows: Tensor, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Sort the values `w` and their `rows`, which become columns; all NaN if one value is NaN."""
    n = w.shape[-1]
    one, other = w.unsqueeze(-1), w.unsqueeze(-2)
    first = (other > one) if descending else (other < one)
    earlier = Tensor.arange(n).unsqueeze(0) < Tensor.arange(n).unsqueeze(1)
    place = (first | (other.eq(one) & earlier)).cast(dtypes.int32).sum(-1)
    order = place.unsqueeze(-2).eq(Tensor.arange(n).unsqueeze(-1))  # row i marks the i-th value
    good = w.isnan().max(-1, keepdim=True).logical_not()
    sizes = order.where(other, 0).sum(-1)
    vectors = order.unsqueeze(-1).where(rows.unsqueeze(-3), 0).sum(-2)
    return good.where(sizes, math.nan), matrix_transpose(good.unsqueeze(-1).where(vectors, math.nan))


def svd(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the full `u`, the singular values in descending order, and the full transposed `v`.

    Source: M. Hestenes (1958): the columns are rotated until they are orthogonal.
    """
    m, n = a.shape[-2:]
    if m < n:
        u, s, vt = svd(matrix_transpose(a))
        return matrix_transpose(vt), s, matrix_transpose(u)
    scale = a.abs().max((-2, -1), keepdim=True)
    x = _even(a / scale.eq(0).where(1, scale), (-1,))
    v, h = _even(identity(_square(a, n)), (-1,)), (n + 1) // 2

    def step(carry: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, v = carry
        p, q = x.split(h, -1)
        c, s = _rotation(p.square().sum(-2, keepdim=True), q.square().sum(-2, keepdim=True), (p * q).sum(-2, True))
        return _next_pairs(_rotate_pairs(x, c, s), x.ndim - 1), _next_pairs(_rotate_pairs(v, c, s), v.ndim - 1)

    def left(carry: tuple[Tensor, Tensor]) -> Tensor:
        x = carry[0]
        gram = matrix_transpose(x) @ x
        on = gram.diagonal(dim1=-2, dim2=-1)
        sizes = (on.unsqueeze(-1) * on.unsqueeze(-2)).sqrt()
        off = Tensor.eye(x.shape[-1], dtype=dtypes.bool).where(0, gram.abs())
        return (off > sizes * (epsilon(x) * math.sqrt(m))).max()

    if n > 1:
        x, v = _sweeps((x, v), step, 2 * h - 1, left)
    x, v = x[..., :n], v[..., :n]
    s = norm(matrix_transpose(x)).squeeze(-1)
    both = matrix_transpose(x).cat(matrix_transpose(v), dim=-1)  # one row for each pair of vectors
    s, vectors = _by_size(s, both, descending=True)
    u, r = qr(vectors[..., :m, :])
    ones = r[..., :n, :].diagonal(dim1=-2, dim2=-1) if n > 1 else r[..., 0, :]
    signs = (ones < 0).where(-1, ones.const_like(1))
    if m > n:
        signs = signs.cat(zeros(u[..., 0, n:]) + 1, dim=-1)
    return u * signs.unsqueeze(-2), s * scale.squeeze(-1), matrix_transpose(vectors[..., m:, :])
