"""All-pairs distances: two nested vmaps, and the nearest neighbor of each digit.

Functions that the demo prints have no docstrings: the printed text explains them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tinygrad import Tensor, TinyJit, Variable

from branded.core.values import vec_type
from branded.core.vmap import vmap
from branded.learn.demo import show
from branded.learn.demo.digits import Array, Digits
from branded.typing import S, S1
from branded.vec import Vec

TOLERANCE = 1e-4
RUNS = 3
watch = show.Watch()


@watch
def distance(x: Vec[S], y: Vec[S1]) -> Vec[S | S1]:
    return (x - y).square().sum()


def all_pairs(images: Tensor) -> Tensor:
    return vmap(lambda x: vmap(lambda y: distance(x, y))(images))(images)


def nearest(distances: Vec[S], itself: Vec[S]) -> Vec[S]:
    other = Tensor.arange(distances.shape[0]) != itself
    return other.where(distances, float("inf")).argmin()


def neighbours(distances: Tensor) -> Tensor:
    return vmap(nearest)(distances, Tensor.arange(distances.shape[0]))


class Pairs(NamedTuple):
    """The results of this part.

    Attributes:
        distances: `f32[n, n]`.
        accuracy: The share of digits whose nearest other digit is of the same class.
        ratio: The speedup of vmap over the loop.
    """

    distances: Array
    accuracy: float
    ratio: float


def run(digits: Digits, part: int) -> Pairs:
    """Compute the distances of all pairs of digits by vmap, and of the first `part` digits by a loop too."""
    n = len(digits.labels)
    watch.clear()
    show.heading("1  All-pairs distances: a vmap in a vmap")
    show.say(
        f"""The inner vmap maps `y` over all {n:,} digits, and the outer one maps `x` over the same digits. They are two
        brands, so nothing is zipped, although the data is the same."""
    )
    show.code(distance, all_pairs)

    images = Tensor(digits.rows).realize()
    few = Tensor(digits.rows[:part]).realize()
    compiled, compiled_few = TinyJit(all_pairs), TinyJit(all_pairs)
    show.warm(compiled, images)
    show.warm(compiled_few, few)
    distances, seconds = show.best_of(RUNS, lambda: compiled(images).numpy())
    _, seconds_few = show.best_of(RUNS, lambda: compiled_few(few).numpy())
    show.facts([*watch.pairs(), ("all_pairs(images)", vec_type(compiled(images)))])

    show.say(
        """Leave-one-out nearest neighbour: each digit gets the class of its nearest other digit. One vmap maps over the
        rows of the distances and over the index of each digit, so the two are zipped."""
    )
    show.code(nearest, neighbours)
    guesses = digits.labels[neighbours(Tensor(distances)).numpy()]
    accuracy = float((guesses == digits.labels).mean())
    show.facts([("correct", f"{(guesses == digits.labels).sum():,} of {n:,}, that is {accuracy:.2%}")])

    by_loop, loop_seconds = show.best_of(RUNS, _loop(few))
    difference = show.check_same(distances[:part, :part], by_loop, TOLERANCE)
    show.say(
        f"""The loop calls `distance` for each pair i, j. Both functions are compiled (TinyJit) and warm, and times are
        the best of {RUNS}. The loop would take long for all {n * n:,} pairs, so both compute the {part * part:,} pairs
        of the first {part:,} digits, and vmap then computes all pairs."""
    )
    ratio = show.compare(
        show.Timing("Python loop", f"{part:,} x {part:,} pairs", loop_seconds),
        show.Timing("vmap", f"{part:,} x {part:,} pairs", seconds_few),
        show.Timing("vmap", f"{n:,} x {n:,} pairs", seconds),
        difference=difference,
        tolerance=TOLERANCE,
    )
    return Pairs(distances, accuracy, ratio)


def _loop(images: Tensor) -> Callable[[], Array]:
    """Return a loop that computes the distances one by one, by a compiled and warm function."""
    n = int(images.shape[0])
    i, j = Variable("i", 0, n - 1), Variable("j", 0, n - 1)
    one = TinyJit(lambda i, j: distance(images[i], images[j]))
    show.warm(one, i.bind(0), j.bind(0))
    return lambda: np.array([[one(i.bind(a), j.bind(b)).item() for b in range(n)] for a in range(n)], np.float32)
