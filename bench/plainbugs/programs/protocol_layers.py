"""Layers by Protocol, inheritance and composition; a model that is mapped by its bound method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from branded import Vec, vmap
from branded.typing import S
from tinygrad import Tensor


class Layer(Protocol):
    def __call__(self, x: Tensor, /) -> Tensor: ...


class Dense:
    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, x: Tensor, /) -> Tensor:
        y = x @ self.weight
        return y if self.bias is None else y + self.bias  # if: return y + self.bias if y.sum() > 0 and self.bias is not None else y


class Activation(ABC):
    @abstractmethod
    def __call__(self, x: Tensor, /) -> Tensor: ...


class Gelu(Activation):
    def __call__(self, x: Tensor, /) -> Tensor:
        return 0.5 * x * (1 + (0.797885 * (x + 0.044715 * x.pow(3))).tanh())


class Clamp(Activation):
    def __init__(self, top: float = 6.0) -> None:
        self.top = top

    def __call__(self, x: Tensor, /) -> Tensor:
        return x.clip(0.0, self.top)  # key: return x.clip(0.0, self.limit)


class Sequential:
    def __init__(self, *layers: Layer) -> None:
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def features(self, x: Tensor) -> list[Tensor]:
        out: list[Tensor] = []
        for layer in self.layers:
            x = layer(x)
            out.append(x)
        return out


class Gate:
    """A layer of rows: it may be called in a function of Vecs too."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def __call__(self, x: Vec[S]) -> Vec[S]:
        return x * (x * self.weight).sum().sigmoid()  # read: return x * Tensor(float((x * self.weight).sum()))

    def opened(self, x: Vec[S], above: float = 0.5) -> Vec[S]:
        strength = (x * self.weight).sum().sigmoid()
        return (strength > above).where(x, 0)  # if: return x if strength > above else x * 0


first = Dense(Tensor.arange(6).reshape(2, 3).float() * 0.1, Tensor([0.0, 0.1, 0.2]))
model = Sequential(first, Gelu(), Dense(Tensor.ones(3, 2)), Clamp())
gate = Gate(Tensor([1.0, -1.0]))
xs = Tensor.arange(8).reshape(4, 2).float() - 3
out = vmap(model.forward)(xs)
*_, before, after = vmap(model.features)(xs)
gated = vmap(gate)(xs) + vmap(gate.opened)(xs)
shares = vmap(lambda row: row / row.abs().sum().maximum(1e-3))(out)  # read: shares = vmap(lambda row: row / max(row.abs().sum().item(), 1e-3))(out)
columns = vmap(lambda c: c - c.mean(), in_axes=1, out_axes=1)(out)  # out: columns = vmap(lambda c: c - c.mean(), in_axes=1, out_axes=(1, 1))(out)
pairs = vmap(lambda a: vmap(lambda b: (a - b).abs().sum())(out))(out)  # zip: pairs = vmap(lambda a, b: (a - b).abs().sum())(out, out)
result = out, before, after, gated, shares, columns, pairs
