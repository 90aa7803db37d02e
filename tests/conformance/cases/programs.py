"""`@function`, gradients inside the mapped function, hand-made calls, and tensors on several devices."""

from tinygrad import Device, Tensor, function
from tinygrad.uop.ops import UOp

from ..table import family, index, positive, real
from .closures import FILTERS, INDEX, K, V

case = family("Functions")


@function
def waves(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sin() + a


@function(precompile=True)
def precompiled(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sin() + a


@function
def two_results(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a + b, (a * b).sum()


@function(precompile=True)
def two_precompiled(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a.exp() + b, a * b.max()


@function(allow_implicit=True)
def with_closure(a: Tensor) -> Tensor:
    return a @ K + V


@function(precompile=True, allow_implicit=True)
def precompiled_with_closure(a: Tensor) -> Tensor:
    return a @ K + V


@function
def of_function(a: Tensor) -> Tensor:
    return waves(a, a + 1).sum() * a


@function
def reductions(a: Tensor) -> Tensor:
    return (a.softmax() * a.sort()[0]).cumsum()


@function(precompile=True, precompile_backward=True)
def precompiled_backward(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).tanh().sum()


class Scale:
    def __init__(self, by: Tensor) -> None:
        self.by = by

    @function
    def __call__(self, x: Tensor) -> Tensor:
        return x * self.by


def halved(grad: UOp, call: UOp) -> tuple[UOp, UOp]:
    """Return scaled gradients, which no derivative rule would give."""
    a, b = call.src[1:]
    return grad * b * 0.5, grad * a * 0.25


@function(grad_fxn=halved)
def own_gradient(a: Tensor, b: Tensor) -> Tensor:
    return a * b


def with_own_closure(x: Tensor, y: Tensor) -> Tensor:
    """Call a function that closes over a per-example value."""
    return function(lambda a: (a * y).sin() + y, allow_implicit=True)(x)


case("@function", "function", lambda x, y: waves(x, y), real(3), real(3))
case("@function with a closure as argument", "function", lambda x: (waves(V, x), waves(x, V)), real(4))
case("@function of the same value twice", "function", lambda x: waves(x, x), real(3))
case(
    "@function called several times",
    "function",
    lambda x, y: waves(waves(x, y), waves(y, x)) + waves(x, V[:3]),
    real(3),
    real(3),
)
case("@function with two results", "function", lambda x, y: two_results(x, y), real(3), real(3))
case("@function, one of two results", "function", lambda x, y: two_results(x, y)[1] * x, real(3), real(3))
case("@function in @function", "function", lambda x: of_function(x) + of_function(x * 2), real(3))
case("@function of another rank", "function", lambda x, y: waves(x.reshape(3, 1), y), real(3), real(4))
case("@function with reductions and a sort", "function", reductions, real(4))
case("@function that closes over a tensor", "function", lambda x: with_closure(x) * 2, real(4))
case("@function that closes over an own value", "function", with_own_closure, real(3), real(3))
case("@function as a method", "function", lambda x, w: Scale(w)(x) + Scale(V)(x), real(4), real(4))
case("precompiled @function", "function", lambda x, y: precompiled(x, y), real(3), real(3))
case(
    "precompiled @function, several times", "function", lambda x, y: precompiled(precompiled(x, y), y), real(3), real(3)
)
case(
    "precompiled @function with a closure as argument",
    "function",
    lambda x: (precompiled(V, x), precompiled(x, V)),
    real(4),
)
case("precompiled @function with two results", "function", lambda x, y: two_precompiled(x, y), real(3), real(3))
case("precompiled @function that closes over a tensor", "function", lambda x: precompiled_with_closure(x), real(4))
case("call", "call as_param", lambda x, y: x.call(y, fxn=x.as_param(0) * x.as_param(1)), real(3), real(3))
case("call, closure first", "call as_param", lambda x: V.call(x, fxn=(V.as_param(0) - V.as_param(1)).exp()), real(4))

case = family("Gradients")


def grad_of_grad(x: Tensor) -> Tensor:
    (g,) = (x.sin() * x).sum().gradient(x)
    return g.square().sum().gradient(x)[0]


def hessian_row(x: Tensor) -> Tensor:
    (g,) = (x**3).sum().gradient(x)
    return g[0].gradient(x)[0]


def of_intermediate(x: Tensor) -> Tensor:
    y = x.exp()
    return (y * y).sum().gradient(y)[0]


def descent(w: Tensor, x: Tensor) -> Tensor:
    """Three steps of gradient descent."""
    for _ in range(3):
        w = w - 0.1 * (x @ w - 1).square().sum().gradient(w)[0]
    return w


case("wrt the argument", "gradient", lambda x: (x.sin() * x).sum().gradient(x)[0], real(4))
case("wrt a scalar", "gradient", lambda x: (x.exp() * x).gradient(x)[0], real())
case("wrt a closure", "gradient", lambda x: (x @ K).tanh().sum().gradient(K)[0], real(4))
case("wrt two arguments", "gradient", lambda x, y: (x * y.sin()).sum().gradient(x, y), real(3), real(3))
case("wrt argument and closure", "gradient", lambda x: (x * V).exp().sum().gradient(x, V), real(4))
case("wrt what is not used", "gradient", lambda x, y: x.sum().gradient(x, y), real(3), real(2))
case("wrt an own value", "gradient", of_intermediate, real(3))
case("of a part", "gradient", lambda x: (x[1:] * x[:-1]).sum().gradient(x)[0], real(4))
case("with a cotangent", "gradient", lambda x, g: x.sin().gradient(x, gradient=g)[0], real(3), real(3))
case("with a closure as cotangent", "gradient", lambda x: (x * x).gradient(x, gradient=V)[0], real(4))
case("of a gradient", "gradient", grad_of_grad, real(3))
case("a row of the Hessian", "gradient", hessian_row, real(3))
case("three steps of descent", "gradient", descent, real(3), real(2, 3))
case(
    "of reductions",
    "gradient",
    lambda x: (x.max(1).sum() + x.softmax().square().sum() + x.var()).gradient(x)[0],
    real(3, 4),
)
case("of prod and cumsum", "gradient", lambda x: (x.prod() + x.cumsum().square().sum()).gradient(x)[0], positive(3))
case("of where", "gradient", lambda x: (x > 0).where(x * x, x.sin()).sum().gradient(x)[0], real(4))
case("of indexing", "gradient", lambda x, i: (x[i].square().sum() + x[0] * x[-1]).gradient(x)[0], real(4), index(3))
case("of gather from a closure", "gradient", lambda i: K[i].square().sum().gradient(K)[0], index(3))
case("of sort", "gradient", lambda x: (x.sort()[0] * V).sum().gradient(x)[0], real(4))
case("of movements", "gradient", lambda x: (x.pad((1, 1)).flip(0).T.reshape(-1) ** 2).sum().gradient(x)[0], real(2, 3))
case(
    "of stack and cat",
    "gradient",
    lambda x, y: Tensor.stack(x, y).cat(V.reshape(1, 4)).exp().sum().gradient(x, y),
    real(4),
    real(4),
)
case("of matmul", "gradient", lambda x, w: (x @ w).tanh().sum().gradient(x, w), real(2, 3), real(3, 2))
case(
    "of conv2d", "gradient", lambda x, w: x.conv2d(w).square().sum().gradient(x, w), real(1, 2, 4, 4), real(2, 2, 3, 3)
)
case(
    "of conv2d wrt a closure",
    "gradient",
    lambda x: x.conv2d(FILTERS, padding=1).square().sum().gradient(FILTERS)[0],
    real(1, 2, 4, 4),
)
case("of a loss wrt closures", "gradient", lambda x, y: (x @ K + V).cross_entropy(y).gradient(K, V), real(4), index())
case(
    "of attention",
    "gradient",
    lambda q, k: q.scaled_dot_product_attention(k, k).sum().gradient(q, k),
    real(2, 3),
    real(3, 3),
)
case("of detach", "gradient detach", lambda x: (x * x.detach()).sum().gradient(x)[0], real(3))
case("of contiguous", "gradient contiguous", lambda x: (x * 2).contiguous().square().sum().gradient(x)[0], real(3))
case(
    "of contiguous_backward",
    "gradient contiguous_backward",
    lambda x: (x * 2).contiguous_backward().square().sum().gradient(x)[0],
    real(3),
)
case("of a cast", "gradient half", lambda x: (x.half() * 2).float().square().sum().gradient(x)[0], real(3))
case("of @function", "gradient function", lambda x, y: waves(x, y).sum().gradient(x, y), real(3), real(3))
case(
    "of @function wrt a closure", "gradient function", lambda x: with_closure(x).square().sum().gradient(x, K), real(4)
)
case(
    "of precompiled @function",
    "gradient function",
    lambda x, y: precompiled(x, y).sum().gradient(x, y),
    real(3),
    real(3),
)
case(
    "of @function with a precompiled backward",
    "gradient function",
    lambda x, y: precompiled_backward(x, y).gradient(x, y),
    real(3),
    real(3),
)
case(
    "of @function with a gradient of its own",
    "gradient function",
    lambda x, y: own_gradient(x, y).square().sum().gradient(x, y),
    real(3),
    real(3),
)
case(
    "of @function with two results",
    "gradient function",
    lambda x, y: (lambda a, b: a.sum() * b)(*two_results(x, y)).gradient(x, y),
    real(3),
    real(3),
)
case("of a write", "gradient __setitem__", lambda x, v: gradient_of_write(x, v), real(4), real())


def gradient_of_write(x: Tensor, v: Tensor) -> list[Tensor]:
    y = x * 1
    y[1] = v * v
    return y.square().sum().gradient(x, v)


case = family("Devices")
CPUS = ("CPU:0", "CPU:1")
case("to another device and back", "to", lambda x: (x * 2).to("CPU:1").exp().to(Device.DEFAULT) + x, real(4))
case("to the same device", "to", lambda x: x.to(Device.DEFAULT) + x.to(None), real(4))
case("to_", "to_", lambda x: (x * 2).to_("CPU:1").to("CPU") + 1, real(4))
case(
    "shard",
    "shard",
    lambda x: (x.shard(CPUS, axis=0).exp().sum(1).to("CPU"), x.shard(CPUS, axis=1).to("CPU") * 2),
    real(2, 4),
)
case("shard without an axis", "shard", lambda x: (x.shard(CPUS) * 2).to("CPU"), real(4))
case("shard_", "shard_", lambda x: (x * 2).shard_(CPUS, axis=0).to("CPU"), real(4))
case("shard_like", "shard_like", lambda x: x.shard_like(V.shard(CPUS, axis=0)).to("CPU") + x.shard_like(V), real(4))
case("sharded reduction", "shard", lambda x: x.shard(CPUS, axis=0).sum().to("CPU") + INDEX.sum(), real(4))
