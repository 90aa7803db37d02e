"""Scores of sensor windows, with helpers from another file."""

from __future__ import annotations

from branded import vmap
from helpers import huber, normalize, standardize
from tinygrad import Tensor

WINDOW = 8


def windows(signal: Tensor) -> Tensor:
    return signal.reshape(-1, WINDOW)


def energy(window: Tensor) -> Tensor:
    return normalize(window).square().mean()  # read: return normalize(window).square().mean() / window.max().item()


def robust_distance(window: Tensor, template: Tensor) -> Tensor:
    return huber(normalize(window) - template, delta=0.5).sum()


def main() -> tuple[Tensor, Tensor, Tensor]:
    signal = Tensor.arange(64).float().sin()
    rows = windows(signal)
    template = normalize(rows[0])
    energies = vmap(energy)(rows)
    distances = vmap(robust_distance, in_axes=(0, None))(rows, template)  # none: distances = vmap(robust_distance)(rows, template)
    peaks = vmap(lambda w: normalize(w).max() - normalize(w).min())(rows)  # read: peaks = vmap(lambda w: normalize(w).max() - w.min().item())(rows)
    scaled, mean, _ = standardize(rows)
    shifted = vmap(lambda w: w - mean)(scaled)  # read: shifted = vmap(lambda w: w - float(w.mean()))(scaled)
    ranges = vmap(lambda w: w.max() - w.min())(rows)  # if: ranges = vmap(lambda w: w.max() if w.max() > 0 else w.min())(rows)
    return energies + distances, peaks, shifted.sum(axis=1) + ranges


result = main()
