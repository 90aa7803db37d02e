"""Hamiltonian Monte Carlo, many chains."""

from typing import NamedTuple

from tinygrad import Tensor

from branded import grad, vmap


# --- hamiltonian Monte Carlo, many chains
class State(NamedTuple):
    q: Tensor
    p: Tensor


def energy(q: Tensor) -> Tensor:
    return 0.5 * (q * q).sum()


def hamiltonian(s: State) -> Tensor:
    return energy(s.q) + 0.5 * (s.p * s.p).sum()


def leapfrog(s: State, size: float) -> State:
    p = s.p - 0.5 * size * grad(energy)(s.q)
    q = s.q + size * p
    return State(q, p - 0.5 * size * grad(energy)(q))


def transition(q: Tensor, noise: Tensor, u: Tensor) -> Tensor:
    old = State(q, noise)
    new = old
    for _ in range(3):
        new = leapfrog(new, 0.1)
    accept = u.log() < hamiltonian(old) - hamiltonian(new)
    return accept.where(new.q, q)


chains, noise, u = Tensor.zeros(4, 2), Tensor.ones(4, 2), Tensor.full((4,), 0.5)
moved: Tensor = vmap(transition)(chains, noise, u)
assert moved.shape == (4, 2)
