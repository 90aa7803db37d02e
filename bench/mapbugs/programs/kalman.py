"""One step of a filter for many sensors, each with its own state."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Sensors(Brand): ...


class State(Brand): ...


class Measured(Brand): ...


N, S, M = 5, 4, 2


def predict(transition: Tensor, state: Tensor) -> Tensor:
    return transition @ state


def update(state: Tensor, seen: Tensor, observe: Tensor, gain: Tensor) -> Tensor:
    error = seen - observe @ state
    return state + gain @ error  # axis: return state + gain.T @ error


def step(transition: Tensor, observe: Tensor, gain: Tensor, states: Tensor, seen: Tensor) -> Tensor:
    moved = vmap(predict, in_axes=(None, 0))(transition, states)  # none: moved = vmap(predict)(transition, states)
    return vmap(update, in_axes=(0, 0, None, None))(moved, seen, observe, gain)  # none: return vmap(update, in_axes=(0, 0, 0, None))(moved, seen, observe, gain)


def main() -> tuple[Tensor, Tensor]:
    transition = as_axes(Tensor.eye(S) * 0.9, State, State)
    observe = as_axes(Tensor.arange(M * S).reshape(M, S).float() * 0.1, Measured, State)
    gain = as_axes(Tensor.arange(S * M).reshape(S, M).float() * 0.05, State, Measured)
    states = as_axes(Tensor.arange(N * S).reshape(N, S).float(), Sensors, State)
    seen = as_axes(Tensor.arange(N * M).reshape(N, M).float(), Sensors, Measured)
    after = step(transition, observe, gain, states, seen)  # axis: after = step(transition, observe, gain, states.T, seen)
    after = step(transition, observe, gain, after, seen)
    error = vmap(lambda state, z: (observe @ state - z).square().sum())(after, seen)  # axis: error = vmap(lambda state, z: (state @ observe - z).square().sum())(after, seen)
    return after, error


result = main()
assert result[1].shape == (N,)
