"""An ensemble of small networks: stack_module_state, functional_call, and votes."""

from __future__ import annotations

from branded import functional_call, stack_module_state, vmap
from tinygrad import Tensor, nn


class Net:
    def __init__(self, width: int = 4) -> None:
        self.first = nn.Linear(2, width)
        self.second = nn.Linear(width, 3)

    def __call__(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())

    @property
    def size(self) -> int:
        return self.first.weight.numel() + self.second.weight.numel()


def train_step(net: Net, x: Tensor, y: Tensor, rate: float = 0.1) -> float:
    loss = net(x).sparse_categorical_crossentropy(y)
    loss.backward()
    for p in nn.state.get_parameters(net):
        if p.grad is not None:
            p.assign(p - rate * p.grad)
            p.grad = None
    return loss.item()


def confident(logits: Tensor) -> Tensor:
    top = logits.softmax().max()
    return (top > 0.4).where(logits.argmax(), -1)  # if: return logits.argmax() if top > 0.4 else Tensor(-1)


Tensor.manual_seed(1)
nets = [Net() for _ in range(3)]
inputs = Tensor.arange(8).reshape(4, 2).float() * 0.2
labels = Tensor([0, 1, 2, 0])
losses = [train_step(net, inputs, labels) for net in nets]
state = stack_module_state(nets)
base = Net()
logits = vmap(lambda p, x: functional_call(base, p, x), in_axes=(0, None))(state, inputs)  # none: logits = vmap(lambda p, x: functional_call(base, p, x))(state, inputs)
votes = vmap(vmap(confident))(logits)
spread = vmap(lambda one: one.std(axis=0), in_axes=1)(logits)  # out: spread = vmap(lambda one: one.std(axis=0), in_axes=1, out_axes="last")(logits)
mean = vmap(lambda one: one.softmax(axis=1))(logits).mean(axis=0)
entropy = vmap(lambda p: -(p * p.log()).sum())(mean)  # read: entropy = vmap(lambda p: -sum(v * v.log() for v in p.numpy()))(mean)
result = logits, votes, spread, entropy
