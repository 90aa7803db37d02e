"""Linear algebra under all transforms: factorizations, linear systems, norms.

Names and argument orders follow `jax.numpy.linalg` and `jax.scipy.linalg`.  Matrices are the last two axes of a float32
or float64 tensor; brands and all leading axes are a batch.

Example:
    >>> from branded import linalg, vmap
    >>> from tinygrad import Tensor
    >>> a = Tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> vmap(lambda b: linalg.solve(a, b))(Tensor([[2.0, 4.0], [6.0, 8.0]])).tolist()
    [[1.0, 1.0], [3.0, 2.0]]

Source: `jax.numpy.linalg`, `jax.scipy.linalg`.
"""

from branded.core.entry import publish
from branded.linalg.factors import (
    EighResult,
    LstsqResult,
    QRResult,
    SVDResult,
    eigh,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
)
from branded.linalg.norms import cond, expm, matrix_power, multi_dot, norm, trace
from branded.linalg.solving import (
    SlogdetResult,
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    slogdet,
    solve,
    solve_triangular,
)

__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "trace",
]

publish(__name__, __all__)
