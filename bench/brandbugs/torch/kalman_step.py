"""One prediction and correction of a Kalman filter, for many tracked objects at once."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import vmap


class Track(NamedTuple):
    """The estimate of one object: mean and covariance."""

    mean: Tensor
    variance: Tensor


def step(motion: Tensor, track: Track, seen: Tensor) -> Track:
    mean, variance = motion @ track.mean, track.variance + 1.0
    gain = variance / (variance + 2.0)
    return Track(mean + gain * (seen - mean), (1.0 - gain) * variance)


def advance(motion: Tensor, tracks: Track, seen: Tensor) -> Track:
    return vmap(step, in_dims=(None, 0, 0))(motion, tracks, seen)  # bug: return vmap(step)(motion, tracks, seen)


def main() -> None:
    tracks = advance(
        torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        Track(torch.tensor([[0.0, 1.0], [2.0, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, 1.0]])),
        torch.tensor([[3.0, 1.0], [4.0, 2.0]]),
    )
    assert tracks.mean.tolist() == [[2.0, 1.0], [4.0, 2.0]]
    assert tracks.variance.tolist() == [[1.0, 1.0], [1.0, 1.0]]


if __name__ == "__main__":
    main()
