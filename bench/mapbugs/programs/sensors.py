"""Calibration of sensors over time: each sensor has an offset, each time a temperature."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Sensors(Brand): ...


class Times(Brand): ...


S, T = 3, 8


def corrected(signal: Tensor, offset: Tensor, temperature: Tensor) -> Tensor:
    """The signal of one sensor at all times."""
    return signal - offset - 0.1 * temperature


def smooth(signal: Tensor) -> Tensor:
    return signal.cumsum(axis=0) / 2


def calibrate(signals: Tensor, offsets: Tensor, temperatures: Tensor) -> Tensor:
    f = vmap(corrected, in_axes=(0, 0, None))  # none: f = vmap(corrected)
    return f(signals, offsets, temperatures)


def main(n_sensors: int = S, n_times: int = T) -> tuple[Tensor, ...]:
    raw = Tensor.arange(n_sensors * n_times).reshape(n_sensors, n_times).float()
    signals = as_axes(raw, Sensors, Times)
    offsets = as_axes(Tensor.arange(n_sensors).float() + 1, Sensors)
    temperatures = as_axes(Tensor.arange(n_times).float(), Times)
    clean = calibrate(signals, offsets, temperatures)  # axis: clean = calibrate(signals.T, offsets, temperatures)
    smoothed = vmap(smooth)(clean)  # axis: smoothed = vmap(smooth, in_axes=1)(clean)
    at_times = vmap(lambda now, t: now.mean() + t, in_axes=(1, 0))(smoothed, temperatures)  # axis: at_times = vmap(lambda now, t: now.mean() + t)(smoothed, temperatures)
    by_time = vmap(smooth, out_axes=1)(clean)  # out: by_time = vmap(smooth)(clean)
    drift = vmap(lambda o: vmap(lambda t: o * t)(temperatures))(offsets)  # zip: drift = vmap(lambda o, t: o * t)(offsets, temperatures)
    error = (smoothed - drift).mean(axis=1) - offsets  # axis: error = (smoothed - drift).mean(axis=0) - offsets
    return clean, smoothed, at_times, by_time, drift, error


result = main()
assert result[3].shape == (T, S) and result[1].shape == (S, T)
