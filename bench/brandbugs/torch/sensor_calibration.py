"""Readings of sensors, calibrated per sensor, averaged over the times."""

import torch
from torch import Tensor
from torch.func import vmap


def calibrated(reading: Tensor, gain: Tensor) -> Tensor:
    return reading * gain


def averages(readings: Tensor, gains: Tensor, drift: Tensor) -> Tensor:
    over_times = vmap(calibrated, in_dims=(0, None))  # bug: over_times = vmap(calibrated, in_dims=(0, 0))
    over_sensors = vmap(over_times)  # bug: over_sensors = vmap(over_times, in_dims=(0, None))
    return over_sensors(readings - drift, gains).mean(1)


def main() -> None:
    got = averages(torch.tensor([[1.0, 3.0], [2.0, 6.0]]), torch.tensor([10.0, 1.0]), torch.tensor([0.0, 2.0]))
    assert got.tolist() == [10.0, 3.0]


if __name__ == "__main__":
    main()
