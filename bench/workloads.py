"""The workloads: each as a vmap, and as the batched tinygrad that a person would write in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from branded import vmap

Program = Callable[..., Any]


class Input(NamedTuple):
    """A random array: normal floats, or ints below `below`."""

    shape: tuple[int, ...]
    below: int = 0
    scale: float = 1.0

    def array(self, rng: np.random.Generator) -> np.ndarray:
        if self.below:
            return rng.integers(0, self.below, self.shape).astype(np.int32)
        return (rng.standard_normal(self.shape) * self.scale).astype(np.float32)

    def empty(self) -> Tensor:
        """Return a tensor of this shape and dtype without data, which is enough to build and schedule a graph."""
        return Tensor.empty(*self.shape, dtype=dtypes.int32 if self.below else dtypes.float32)


class Workload(NamedTuple):
    """Two programs of the same inputs and results.

    Both are scheduled as equally many kernels.  `same`: they are the very same ones, since the graphs are.
    """

    name: str
    inputs: tuple[Input, ...]
    mapped: Program
    hand: Program
    same: bool = True


def arrays(w: Workload) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [i.array(rng) for i in w.inputs]


def floats(*shape: int, scale: float = 1.0) -> Input:
    return Input(shape, scale=scale)


def ints(below: int, *shape: int) -> Input:
    return Input(shape, below)


# ---- mapped functions, and their batched forms where these differ ----


def chain(x: Tensor) -> Tensor:
    return (x.sin() * 2 + x.exp()).tanh()


def distance(x: Tensor, y: Tensor) -> Tensor:
    return (x - y).square().sum()


def pairwise(xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda x: vmap(lambda y: distance(x, y))(ys))(xs)


def triple(xs: Tensor, ys: Tensor, zs: Tensor) -> Tensor:
    return vmap(lambda x: vmap(lambda y: vmap(lambda z: (x * y * z).sum().tanh())(zs))(ys))(xs)


def loss(x: Tensor, y: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    return ((x @ w1).tanh() @ w2 - y).square().sum()


def gradients(x: Tensor, y: Tensor, w1: Tensor, w2: Tensor) -> tuple[Tensor, ...]:
    return tuple(loss(x, y, w1, w2).gradient(w1, w2))


def gradients_expanded(x: Tensor, y: Tensor, w1: Tensor, w2: Tensor) -> tuple[Tensor, ...]:
    """The weights repeated for each example, and the gradient of the summed loss with respect to the copies."""
    w1, w2 = (w.unsqueeze(0).expand(len(x), *w.shape) for w in (w1, w2))
    out = ((x.unsqueeze(1) @ w1).tanh() @ w2).squeeze(1)
    return tuple((out - y).square().sum().gradient(w1, w2))


def gradients_derived(x: Tensor, y: Tensor, w1: Tensor, w2: Tensor) -> tuple[Tensor, ...]:
    """Backpropagation written out, as outer products."""
    h = (x @ w1).tanh()
    dout = 2 * (h @ w2 - y)
    dh = (dout @ w2.T) * (1 - h * h)
    return x.unsqueeze(2) * dh.unsqueeze(1), h.unsqueeze(2) * dout.unsqueeze(1)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return q.scaled_dot_product_attention(k, v)


def convolve_each(x: Tensor, w: Tensor) -> Tensor:
    """One convolution with a group for each example, for examples that are batches of one."""
    n, _, c, height, width = x.shape
    out = x.reshape(1, n * c, height, width).conv2d(w.reshape(-1, *w.shape[2:]), groups=n)
    return out.reshape(n, 1, w.shape[1], *out.shape[2:])


def convolve_one(x: Tensor, w: Tensor) -> Tensor:
    return x.unsqueeze(0).conv2d(w).squeeze(0)


def head(x: Tensor, w: Tensor) -> Tensor:
    return (x.layernorm() @ w).softmax()


def sort(x: Tensor) -> Tensor:
    return x.sort()[0]


def network(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    return (x @ w1 + b1).relu() @ w2


def ensemble(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    return (x @ w1 + b1.unsqueeze(1)).relu() @ w2


def deep(x: Tensor) -> Tensor:
    return (x.layernorm() * 2).softmax().cumsum(-1)


SHARED = (0, None)
EXAMPLES = (0, 0, None, None)
MLP = (floats(64, 64), floats(64, 10), floats(64, 64, scale=1 / 8), floats(64, 10, scale=1 / 8))

WORKLOADS = (
    Workload("elementwise chain, small", (floats(64, 16),), vmap(chain), chain),
    Workload("elementwise chain, large", (floats(1000, 1000),), vmap(chain), chain),
    Workload("matvec, shared matrix", (floats(512, 256), floats(256, 256)), vmap(Tensor.matmul, SHARED), Tensor.matmul),
    Workload(
        "batched matvec",
        (floats(256, 128, 128), floats(256, 128)),
        vmap(Tensor.matmul),
        lambda a, x: (a @ x.unsqueeze(-1)).squeeze(-1),
    ),
    Workload("batched matmul", (floats(32, 128, 128), floats(32, 128, 128)), vmap(Tensor.matmul), Tensor.matmul),
    Workload(
        "pairwise distances, 2 vmaps",
        (floats(512, 32), floats(512, 32)),
        pairwise,
        lambda x, y: (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(-1),
    ),
    Workload(
        "outer product of 3, 3 vmaps",
        (floats(32, 16), floats(32, 16), floats(32, 16)),
        triple,
        lambda x, y, z: (x[:, None, None] * y[None, :, None] * z[None, None]).sum(-1).tanh(),
    ),
    Workload("same data, 3 vmaps", (floats(16, 16, 16, 32),), vmap(vmap(vmap(deep))), deep),
    Workload("per-example gradients, expanded", MLP, vmap(gradients, EXAMPLES), gradients_expanded),
    Workload("per-example gradients, derived", MLP, vmap(gradients, EXAMPLES), gradients_derived, same=False),
    Workload("attention", (floats(8, 128, 64),) * 3, vmap(attention), attention),
    Workload(
        "conv2d, weights per example",  # by hand the index arithmetic is associated in another way
        (floats(16, 1, 8, 16, 16), floats(16, 8, 8, 3, 3)),
        vmap(Tensor.conv2d),
        convolve_each,
        same=False,
    ),
    Workload(
        "conv2d, shared weights", (floats(32, 8, 16, 16), floats(8, 8, 3, 3)), vmap(convolve_one, SHARED), Tensor.conv2d
    ),
    Workload(
        "layernorm, linear, softmax", (floats(256, 256), floats(256, 256, scale=1 / 16)), vmap(head, SHARED), head
    ),
    Workload("sort", (floats(64, 256),), vmap(sort), sort),
    Workload("topk", (floats(64, 256),), vmap(lambda x: x.topk(8)), lambda x: x.topk(8)),
    Workload(
        "gather by index per example",
        (floats(256, 512), ints(512, 256, 64)),
        vmap(lambda x, i: x.gather(0, i)),
        lambda x, i: x.gather(1, i),
    ),
    Workload(
        "rows by index per example",  # x[i] takes negative indices too, gather does not
        (floats(128, 64, 32), ints(64, 128, 16)),
        vmap(lambda x, i: x[i]),
        lambda x, i: x.gather(1, i.unsqueeze(-1).expand(*i.shape, x.shape[-1])),
        same=False,
    ),
    Workload(
        "ensemble of networks",
        (floats(128, 64), floats(16, 64, 32, scale=1 / 8), floats(16, 32), floats(16, 32, 10, scale=1 / 8)),
        vmap(network, (None, 0, 0, 0)),
        ensemble,
    ),
)
