"""Solvers of plain tensors that take a function."""

from collections.abc import Callable

from tinygrad import Tensor

from branded import grad, vmap

Scalar = Callable[[Tensor], Tensor]


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
