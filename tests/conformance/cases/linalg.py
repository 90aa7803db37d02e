"""Matrix products, decompositions, and hashes."""

from collections.abc import Callable
from contextlib import contextmanager

from tinygrad import Tensor, dtypes

from ..table import family, index, positive, real
from .closures import K, V

case = family("Linear algebra")

RANKS = {1: (3,), 2: (2, 3), 3: (2, 2, 3), 4: (1, 2, 2, 3)}
RIGHT = {1: (3,), 2: (3, 2), 3: (2, 3, 2), 4: (2, 1, 3, 2)}
for a, left in RANKS.items():
    for b, right in RIGHT.items():
        case(f"ranks {a} and {b}", "__matmul__", lambda x, y: x @ y, real(*left), real(*right))
case("dot", "dot", lambda x, y: (x.dot(x), y.dot(x), x.dot(y)), real(3), real(3, 3))
case("matmul", "matmul", lambda x, y: (x.matmul(y), x.matmul(y, reverse=True)), real(3, 3), real(3, 3))
case("matmul from the right", "__rmatmul__", lambda x, y: x.__rmatmul__(y), real(3, 3), real(3, 3))
case("x @ closure", "__matmul__ dot", lambda x: (x @ K, x.dot(K), x @ V), real(4))
case("closure @ x", "__matmul__ dot matmul", lambda x: (K @ x, K.dot(x), V @ x, V.matmul(x)), real(4))
case("closure @ x, of rank 2", "__matmul__ dot", lambda x: (K @ x, V @ x, V.dot(x), K.reshape(2, 2, 4) @ x), real(4, 3))
case("x @ closure, of rank 3", "__matmul__", lambda x: (x @ K, x @ V), real(2, 3, 4))
case("closure @ x @ closure", "__matmul__", lambda x: K @ x @ K, real(4, 4))
case("matrices of size 0", "__matmul__", lambda x, y: x @ y, real(2, 0), real(0, 3))
case("matmul of integers", "__matmul__ dot", lambda i, j: (i @ j, i.dot(j)), index(2, 3), index(3, 2))
case("outer product", "unsqueeze __mul__", lambda x, y: x.unsqueeze(1) * y, real(3), real(4))
case("linear", "linear", lambda x, w, b: (x.linear(w), x.linear(w, b)), real(2, 3), real(3, 4), real(4))
case(
    "linear with closures",
    "linear",
    lambda x: (x.linear(K, V), x.linear(V), x.linear(K, V, dtype=dtypes.float64)),
    real(4),
)
case("closure.linear(x)", "linear", lambda w, b: (V.linear(w, b), K.linear(w)), real(4, 3), real(3))
case("power iteration", "__matmul__", lambda x: (lambda v: v / v.square().sum().sqrt())(x @ (x @ (x @ V))), real(4, 4))

PAIRS = ("ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->", "ij,jk->ijk")
for formula in PAIRS:
    case(
        f"einsum {formula}",
        "einsum",
        lambda x, y, formula=formula: Tensor.einsum(formula, x, y),
        real(2, 3),
        real(3, 2),
    )
case(
    "einsum of one",
    "einsum",
    lambda x: (
        Tensor.einsum("ij->ji", x),
        Tensor.einsum("ij->i", x),
        Tensor.einsum("ij->", x),
        Tensor.einsum("ii->i", x),
        Tensor.einsum("ii", x),
    ),
    real(3, 3),
)
case("einsum of three", "einsum", lambda x, y, z: Tensor.einsum("i,ij,j->", x, y, z), real(2), real(2, 3), real(3))
case(
    "einsum with an ellipsis",
    "einsum",
    lambda x, y: (Tensor.einsum("...ij,...jk->...ik", x, y), Tensor.einsum("...ij->...ji", x)),
    real(2, 2, 3),
    real(2, 3, 2),
)
case("einsum of a repeated index", "einsum", lambda x: Tensor.einsum("bii->b", x), real(2, 3, 3))
case(
    "einsum, closure first",
    "einsum",
    lambda x: (Tensor.einsum("ij,j->i", K, x), Tensor.einsum("i,ij->j", x, K)),
    real(4),
)
case(
    "einsum of a list", "einsum", lambda x, y: Tensor.einsum("i,j->ij", [x, y], dtype=dtypes.float64), real(2), real(3)
)

case("qr", "qr", lambda x: x.qr(), real(3, 3), tolerance=1e-4)
case("qr of a tall matrix", "qr", lambda x: x.qr(), real(4, 2), tolerance=1e-4, modes=("zip", "deep"))
case("qr of a wide matrix", "qr", lambda x: x.qr(), real(2, 4), tolerance=1e-4, modes=("zip", "nested"))
case("qr of a stack", "qr", lambda x: x.qr(), real(2, 2, 2), tolerance=1e-4)
case("svd", "svd", lambda x: x.svd(), real(2, 2), tolerance=1e-3, modes=("nested", "deep"))
case(
    "svd of a tall matrix",
    "svd",
    lambda x: x.svd(full_matrices=False),
    real(3, 2),
    tolerance=1e-3,
    modes=("zip",),
)
case(
    "newton_schulz",
    "newton_schulz",
    lambda x: (x.newton_schulz(2, (3.4445, -4.775, 2.0315)), x[:, :2].newton_schulz(1, (2, -1.5, 0.5))),
    real(3, 3),
    tolerance=1e-4,
)
case(
    "inverse by Newton's iteration",
    "__matmul__",
    lambda x: newton_inverse(x @ x.T + Tensor.eye(2)),
    real(2, 2),
    tolerance=1e-3,
)
case("Cholesky of 2 by 2", "sqrt stack", lambda x: cholesky(x @ x.T + Tensor.eye(2)), real(2, 2))
case(
    "distances",
    "unsqueeze square sum sqrt",
    lambda x, y: (x.unsqueeze(1) - y).square().sum(-1).sqrt(),
    real(3, 2),
    real(4, 2),
)
case("determinant of 2 by 2", "__getitem__", lambda x: x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0], positive(2, 2))

BYTES = index(6, high=256, dtype=dtypes.uint8)
case("keccak", "keccak", lambda x: x.keccak(), BYTES, pool=2, modes=("zip",))


def newton_inverse(a: Tensor) -> Tensor:
    x = a.T / a.square().sum()
    for _ in range(5):
        x = x @ (2 * Tensor.eye(2) - a @ x)
    return x


def cholesky(a: Tensor) -> Tensor:
    low = a[0, 0].sqrt()
    side = a[1, 0] / low
    return Tensor.stack(low, low * 0, side, (a[1, 1] - side * side).sqrt()).reshape(2, 2)


@contextmanager
def short_keccak(stand_in: Callable[[Tensor], Tensor]):
    """Return `hash` with a stand-in for its two rounds of keccak, which take gigabytes per megabyte of data."""
    original = Tensor._hash_1mb
    Tensor._hash_1mb = stand_in
    try:
        yield
    finally:
        Tensor._hash_1mb = original


def hashed(x: Tensor) -> Tensor:
    with short_keccak(lambda data: data.reshape(data.shape[0], 16, -1)[:, :, :64].sum(-1).cast(dtypes.uint8)):
        return x.hash()


case("hash: its padding, on a stand-in for keccak", "hash", hashed, BYTES, modes=("zip", "nested"))
