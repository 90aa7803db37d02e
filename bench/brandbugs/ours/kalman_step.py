"""One prediction and correction of a Kalman filter, for many tracked objects at once.

Mistake: unmapped passed as mapped: the model of the motion is mapped with the objects.
"""

from dataclasses import dataclass
from typing import Generic, Never, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


@dataclass
class Track(Generic[S]):
    """The estimate of one object: mean and covariance."""

    mean: Vec[S, Tensor]
    variance: Vec[S, Tensor]


def step(motion: Tensor, track: Track[S], seen: Vec[S, Tensor]) -> Track[S]:
    mean, variance = motion @ track.mean, track.variance + 1.0
    gain = variance / (variance + 2.0)
    return Track(mean + gain * (seen - mean), (1.0 - gain) * variance)


def advance(motion: Tensor, tracks: Track[Never], seen: Tensor) -> Track[Never]:
    return vmap(step, in_axes=(None, 0, 0))(motion, tracks, seen)  # bug: return vmap(step)(motion, tracks, seen)


def main() -> None:
    tracks = advance(
        Tensor([[1.0, 1.0], [0.0, 1.0]]),
        Track(Tensor([[0.0, 1.0], [2.0, 2.0]]), Tensor([[1.0, 1.0], [1.0, 1.0]])),
        Tensor([[3.0, 1.0], [4.0, 2.0]]),
    )
    assert tracks.mean.tolist() == [[2.0, 1.0], [4.0, 2.0]]
    assert tracks.variance.tolist() == [[1.0, 1.0], [1.0, 1.0]]


if __name__ == "__main__":
    main()
