"""Solvers of plain tensors that get a function, and layers that exchange values between examples."""

from collections.abc import Callable

from tinygrad import Tensor

from branded import Brand, all_gather, axis_index, grad, ppermute, vmap

Scalar = Callable[[Tensor], Tensor]


class Batch(Brand): ...


# --- a function that closes over a value of one example
def newton(f: Scalar, x: Tensor, rounds: int = 4) -> Tensor:
    slope = grad(f)
    for _ in range(rounds):
        x = x - f(x) / slope(x)
    return x


def at_one(f: Scalar) -> Tensor:
    return f(Tensor(1.0))


def root(a: Tensor) -> Tensor:
    def f(x: Tensor) -> Tensor:
        return x * x - a

    return newton(f, Tensor(1.5)) + newton(lambda x: x * x - a, a)


targets = Tensor([2.0, 3.0, 5.0])
vmap(root)(targets)
vmap(lambda a: newton(lambda x: x * x - a, Tensor(1.5)) + at_one(lambda x: x + a))(targets)


# --- exchanges over a brand, in functions of plain tensors
def to_next(x: Tensor) -> Tensor:
    return x + ppermute(x, Batch, [(0, 1), (1, 2), (2, 0)])


def own_score(z: Tensor) -> Tensor:
    scores = all_gather(z, Batch) @ z
    return scores.log_softmax()[axis_index(Batch)]


vmap(to_next, axis_name=Batch)(targets)
vmap(own_score, axis_name=Batch)(Tensor.ones(3, 2))
