"""The results of the demo as pictures.  Needs matplotlib, the extra `[demo]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from branded.learn.demo.digits import INK, Digits
from branded.learn.demo.ensemble import Ensemble
from branded.learn.demo.gradients import Gradients
from branded.learn.demo.pairs import Pairs

DPI = 150
GREY = "#666666"


def distances(out: Path, digits: Digits, found: Pairs) -> Path:
    """Plot the matrix of all distances, with the digits sorted by class."""
    order = np.argsort(digits.labels, kind="stable")
    matrix = np.sqrt(found.distances[np.ix_(order, order)])
    edges = np.flatnonzero(np.diff(digits.labels[order])) + 1
    middles = (np.array([0, *edges]) + np.array([*edges, len(order)])) / 2
    classes = [str(c) for c in np.unique(digits.labels)]

    figure, axes = _figure(7.6, 7.0)
    image = axes.imshow(matrix, cmap="magma", interpolation="antialiased")
    for edge in edges:
        axes.axhline(edge - 0.5, color="white", linewidth=0.4, alpha=0.6)
        axes.axvline(edge - 0.5, color="white", linewidth=0.4, alpha=0.6)
    axes.set_xticks(middles, classes)
    axes.set_yticks(middles, classes)
    axes.tick_params(length=0)
    axes.set_xlabel("class of y")
    axes.set_ylabel("class of x")
    axes.set_title(
        f"Distances of all {len(order):,} x {len(order):,} pairs of digits\n"
        f"nearest neighbour (leave one out): {found.accuracy:.1%} correct",
        fontsize=12,
    )
    bar = figure.colorbar(image, ax=axes, shrink=0.82, pad=0.02)
    bar.set_label("Euclidean distance (pixels from 0 to 1)")
    bar.outline.set_visible(False)
    return _save(figure, out / "distances.png")


def hardest(out: Path, digits: Digits, found: Gradients) -> Path:
    """Plot the digits with the longest gradients, above the lengths of all gradients."""
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    columns = max(1, (len(found.hardest) + 1) // 2)
    grid = figure.add_gridspec(3, columns, height_ratios=(1, 1, 0.95), hspace=0.08)
    for place, k in enumerate(found.hardest):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        axes.imshow(digits.images[k], cmap="gray_r", vmin=0, vmax=INK)
        axes.set_title(f"{digits.labels[k]}, read as {found.guesses[k]}", fontsize=11)
        axes.set_xlabel(f"no. {k}, length {found.norms[k]:.2f}", fontsize=8.5, color=GREY)
        axes.set_xticks([])
        axes.set_yticks([])
    right = found.guesses == digits.labels
    axes = figure.add_subplot(grid[2, :])
    bins = np.linspace(0, float(found.norms.max()), 60).tolist()
    axes.hist(
        [found.norms[right], found.norms[~right]],
        bins,
        stacked=True,
        color=["#4c78a8", "#e45756"],
        label=[f"recognized ({right.sum():,})", f"not recognized ({(~right).sum():,})"],
    )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("length of the digit's own gradient")
    axes.set_ylabel("digits")
    axes.legend(frameon=False)
    _plain(axes)
    figure.suptitle(
        f"The {len(found.hardest)} digits with the longest gradients (linear classifier, {found.accuracy:.1%} correct)",
        fontsize=13,
    )
    return _save(figure, out / "hardest.png")


def training(out: Path, found: Ensemble) -> Path:
    """Plot the loss and the accuracy of each network, epoch by epoch."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    epochs = np.arange(1, len(found.losses) + 1)
    for k, (loss, curve) in enumerate(zip(found.losses.T, found.curves.T, strict=True)):
        left.plot(epochs, loss, color=f"C{k % 10}", linewidth=1.3)
        right.plot(epochs, curve, color=f"C{k % 10}", linewidth=1.3, label=f"network {k + 1}: {curve[-1]:.1%}")
    right.axhline(found.vote, color="black", linestyle="--", linewidth=1.2, label=f"all voting: {found.vote:.1%}")
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_locator(NullLocator())
    left.set_title("Training loss")
    right.set_title("Accuracy on held-out digits")
    right.set_ylim(min(0.85, float(found.curves.min())), 1.0)
    right.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    right.legend(frameon=False, fontsize=9, loc="lower right")
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(alpha=0.25)
        _plain(axes)
    figure.suptitle(f"{found.curves.shape[1]} networks trained at once by vmap over their parameters", fontsize=13)
    return _save(figure, out / "training.png")


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> Path:
    """Write a figure without a display and without pyplot's state."""
    FigureCanvasAgg(figure).print_figure(path, dpi=DPI, facecolor="white")
    return path
