"""A two-layer classifier whose parameters are TypedDicts, in a file that mentions Vec."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from branded import Vec, tree, value_and_grad, vmap
from branded.typing import S, S1
from tinygrad import Tensor

EXAMPLES, INPUTS, HIDDEN, CLASSES = 5, 4, 6, 3


class Layer(TypedDict):
    w: Tensor
    b: Tensor


class Config(TypedDict):
    rate: float
    decay: NotRequired[float]


class Net(TypedDict):
    first: Layer
    last: Layer


def dense(p: Layer, x: Vec[S]) -> Vec[S]:
    return p["w"] @ x + p["b"]  # key: return p["weight"] @ x + p["b"]


def logits(net: Net, x: Vec[S]) -> Vec[S]:
    return dense(net["last"], dense(net["first"], x).relu())  # key: return dense(net["second"], dense(net["first"], x).relu())


def cross_entropy(scores: Vec[S], label: Vec[S1]) -> Vec[S | S1]:
    return -scores.log_softmax()[label]  # read: return -scores.log_softmax()[int(label)]


def loss(net: Net, x: Vec[S], label: Vec[S1]) -> Vec[S | S1]:
    return cross_entropy(logits(net, x), label)  # if: return cross_entropy(logits(net, x), label) if x.max() > 0 else x.sum()


def mean_loss(net: Net, xs: Tensor, labels: Tensor) -> Tensor:
    return vmap(loss, in_axes=(None, 0, 0))(net, xs, labels).mean()  # none: return vmap(loss)(net, xs, labels).mean()


def update(net: Net, grads: Net, config: Config) -> Net:
    rate = config["rate"] * (1 - config.get("decay", 0.0))
    return tree.map(lambda p, g: p - rate * g, net, grads)


def train(net: Net, xs: Tensor, labels: Tensor, config: Config) -> tuple[Net, Tensor]:
    value, grads = value_and_grad(mean_loss)(net, xs, labels)
    return update(net, grads, config), value


def init(seed: int) -> Net:
    def weights(n: int, m: int) -> Tensor:
        return ((Tensor.arange(n * m).reshape(n, m) + seed) % 7).float() * 0.1

    return {
        "first": {"w": weights(HIDDEN, INPUTS), "b": Tensor.zeros(HIDDEN)},
        "last": {"w": weights(CLASSES, HIDDEN), "b": Tensor.zeros(CLASSES)},  # key: "last": {"w": weights(CLASSES, HIDDEN), "bias": Tensor.zeros(CLASSES)},
    }


net = init(1)
xs = Tensor.arange(EXAMPLES * INPUTS).reshape(EXAMPLES, INPUTS).float() * 0.1
labels = Tensor([0, 1, 2, 1, 0])
trained, value = train(net, xs, labels, {"rate": 0.1})
outputs = vmap(logits, in_axes=(None, 0))(trained, xs)  # none: outputs = vmap(logits)(trained, xs)
confusion = vmap(cross_entropy)(outputs, labels)  # axis: confusion = vmap(cross_entropy)(outputs.T, labels)
every = vmap(lambda o: vmap(lambda l: cross_entropy(o, l))(Tensor.arange(CLASSES)))(outputs)  # zip: every = vmap(lambda o, l: cross_entropy(o, l))(outputs, Tensor.arange(CLASSES))
columns = vmap(lambda x: x.exp().sum(), in_axes=1)(xs)  # axis: columns = vmap(lambda x: (x * labels[:INPUTS]).exp().sum(), in_axes=1)(xs)
result = value, outputs, confusion, every, columns
assert columns.shape == (INPUTS,)
