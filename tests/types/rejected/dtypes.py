# --- a dtype that a method does not accept
from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded import cond, fori_loop, grad, hessian, jvp, psum, scan, switch, value_and_grad, vjp, vmap, while_loop

rates = Tensor.ones(4, 3)
counts = Tensor([1, 2, 0, 1])
flags = counts > 0

vmap(lambda x: x.one_hot(3))(rates)  # E: one_hot: expect integer dtype, getting dtype=float
vmap(lambda b: b.one_hot(3))(flags)  # E: one_hot: expect integer dtype, getting dtype=bool
vmap(lambda x: x[x.max()])(rates)  # E: index: index dtype float is not supported
vmap(lambda x: rates[0, x.sum() / 2])(rates)  # E: index: index dtype float is not supported
vmap(lambda x: x.gather(0, x))(rates)  # E: gather: expects int index tensor, getting float
vmap(lambda x: x.where(x, 0))(rates)  # E: where: where cond must be bool, got float
vmap(lambda n: n.where(n, 0))(counts)  # E: where: where cond must be bool, got int
vmap(lambda x: (x > 0) & x)(rates)  # E: and: bitwise operations need bools or ints, not a float
vmap(lambda x: ~x.exp())(rates)  # E: invert: bitwise operations need bools or ints, not a float
vmap(lambda n: n << n.mean())(counts)  # E: lshift: shift operands must be int, got float


# --- branches and bounds with a wrong dtype
def halved_or_not(n: Tensor) -> Tensor:
    return cond(n > 1, lambda: n / 2, lambda: n)  # E: cond: the branches return different types


vmap(halved_or_not)(counts)
vmap(lambda n: switch(n, [lambda: rates, lambda: rates > 0]))(counts)  # E: switch: the branches return different types
vmap(lambda x: switch(x.sum(), [lambda: x, lambda: -x]))(rates)  # E: switch: the index is a float tensor, not an int
vmap(lambda x: fori_loop(0, x.sum(), lambda i, c: c + 1, x))(rates)  # E: fori_loop: upper is a float tensor
fori_loop(counts.mean(), 3, lambda i, c: c + 1, rates)  # E: fori_loop: lower is a float tensor, not one int


# --- a carry whose dtype changes
class Losses:
    def total(self, xs: Tensor) -> Tensor:
        return scan(lambda c, x: (c + x.sum(), None), Tensor(0), xs)[0]  # E: scan: carry changes its type from step


Losses().total(rates)
scan(lambda c, x: ((c[0] + 1, c[1] | (x > 0)), None), (Tensor(False), rates[0] > 0), rates)  # E: scan: carry changes
vmap(lambda x: while_loop(lambda c: c.sum() < 3, lambda c: c / 2, x > 0))(rates)  # E: while_loop: carry changes its
vmap(lambda x: while_loop(lambda c: c.sum(), lambda c: c + 1, x))(rates)  # E: while_loop: the condition is a float
fori_loop(0, 3, lambda i, c: c / 2, Tensor(1))  # E: fori_loop: carry changes its type from step to step
scan(lambda c, x: (c.cast(dtypes.int32), None), Tensor(0.5), rates)  # E: scan: carry changes its type from step


# --- an int has no derivative
params = {"w": Tensor.ones(3), "n": Tensor([1, 2, 3])}
vmap(grad(lambda n: n * 2))(counts)  # E: grad: argument 1 is an int tensor, and only floats have derivatives
grad(lambda p: (p["w"] * p["n"]).sum())(params)  # E: grad: argument 1['n'] is an int tensor, and only floats
hessian(lambda b: b.sum())(flags)  # E: hessian: argument 1 is a bool tensor, and only floats have derivatives
vjp(lambda x, n: (x * n).sum(), rates[0], Tensor([1, 2, 3]))  # E: vjp: argument 2 is an int tensor
jvp(lambda n: n * 2, (counts,), (counts,))  # E: jvp: argument 1 is an int tensor, and only floats have derivatives
jvp(lambda x: x * 2, (rates,), (rates.int(),))  # E: jvp: the tangent of a primal has another shape or dtype
value_and_grad(lambda x: (x > 0).sum())(rates)  # E: value_and_grad: the function must return one float, and it returns
vmap(lambda x: grad(lambda y: psum(y > 0, "x"))(x), axis_name="x")(Tensor([0.5]))  # E: grad: the function
