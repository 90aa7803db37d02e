# --- dtypes that fit
from __future__ import annotations

import numpy as np
from tinygrad import Tensor, dtypes

from branded import cond, fori_loop, grad, jvp, pmean, scan, switch, vmap, while_loop

rates = Tensor.ones(4, 3)
counts = Tensor([1, 2, 0, 1])
flags = counts > 0

vmap(lambda n: n.one_hot(3))(counts)
vmap(lambda x: x.argmax().one_hot(3))(rates)
vmap(lambda x: x.int().one_hot(3))(rates)
vmap(lambda x: x.cast(dtypes.int32).one_hot(3))(rates)
vmap(lambda x: x.sum(dtype="int32").one_hot(3))(rates)
vmap(lambda b: b.cast("int32").one_hot(3))(flags)
vmap(lambda x, n: x[n])(rates, counts)
vmap(lambda x: x[x.argmax()])(rates)
vmap(lambda x: x[(x > 0).sum() % 3])(rates)
vmap(lambda x: (x > 0).where(x, 0))(rates)
vmap(lambda n: n.cast("bool").where(n, 0))(counts)
vmap(lambda b, n: (b & (n < 2)) | ~b)(flags, counts)
vmap(lambda n: (n & 1) ^ (n << 1))(counts)
vmap(lambda b: b << 1)(flags)
vmap(lambda x: (x > 0).cat(x > 1, dim=0).where(1, 0))(rates)
vmap(lambda x: (x > 0).stack(x > 1, dim=0).where(1, 0))(rates)
vmap(lambda x: x.argsort().gather(0, x.argmax().reshape(1)))(rates)

# --- branches, bounds and carries that fit
vmap(lambda n: cond(n > 1, lambda: n * 0.5, lambda: n + 0.0))(counts)
vmap(lambda n: cond(n > 1, lambda: n, lambda: 0))(counts)
vmap(lambda n: cond(n > 1, lambda: n / 2, lambda: 0))(counts)
vmap(lambda n: cond(n > 1, lambda: n / 2, lambda: Tensor(0)))(counts)
vmap(lambda n: cond(n > 1, lambda: n.one_hot(3), lambda: rates[0]))(counts)
vmap(lambda b: switch(b, [lambda: rates, lambda: rates * 2]))(flags)
vmap(lambda n: fori_loop(0, n, lambda i, c: c * 2, 1.0))(counts)
vmap(lambda n: fori_loop(n > 1, 3, lambda i, c: c + i, n))(counts)
scan(lambda c, x: (c + x.sum(), None), 0, rates)
scan(lambda c, x: (c + x.sum(), None), Tensor(0.0), rates)
scan(lambda c, x: (c + 1, None), Tensor(0), rates)
scan(lambda c, x: (c | (x > 0).any(), None), Tensor(False), rates)
scan(lambda c, x: (c + (x > 0).sum(), None), Tensor(0), rates)
fori_loop(0, 3, lambda i, c: c / 2, 1)
fori_loop(0, 3, lambda i, c: c + i, Tensor(1.0))
while_loop(lambda c: (c < 3).all(), lambda c: c + 1, counts)
scan(lambda c, x: (c + x, None), Tensor(np.zeros(3)).float(), rates)

# --- derivatives of floats
grad(lambda x, n: (x * n).sum())(rates, counts.reshape(4, 1))
vmap(grad(lambda n: n * 2))(counts.float())
grad(lambda x: (x > 0).where(x, 0).sum())(rates)
jvp(lambda x: x.sum(), (rates,), (Tensor.ones(4, 3),))
vmap(lambda x: grad(lambda y: pmean(y > 0, "x") * y)(x), axis_name="x")(Tensor([0.5]))
