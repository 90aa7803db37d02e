"""A Kalman filter over a batch of series."""

from dataclasses import dataclass

from tinygrad import Tensor

from branded import scan, vmap


# --- a Kalman filter over a batch of series
@dataclass(frozen=True)
class Model:
    noise: float
    drift: float


def update(carry: tuple[Tensor, Tensor], y: Tensor, model: Model) -> tuple[tuple[Tensor, Tensor], Tensor]:
    mean, var = carry
    var = var + model.drift
    gain = var / (var + model.noise)
    mean = mean + gain * (y - mean)
    return (mean, (1 - gain) * var), mean


def smooth(ys: Tensor, model: Model) -> Tensor:
    def step(carry: tuple[Tensor, Tensor], y: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        return update(carry, y, model)

    start = Tensor(0.0), Tensor(1.0)
    _, means = scan(step, start, ys)
    return means


series = Tensor.ones(3, 6)
model = Model(0.5, 0.1)
means: Tensor = vmap(lambda ys: smooth(ys, model))(series)
assert means.shape == (3, 6)
