"""Per-example gradients of a classifier, and the digits with the largest gradients.

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
from branded.learn.demo.digits import INK, Array, Digits
from branded.typing import S, S1
from branded.vec import Vec

TOLERANCE = 1e-5
RUNS = 3
RATE = 1.0
watch = show.Watch()


def loss(w: Vec[S], image: Vec[S1], label: Vec[S1]) -> Vec[S | S1]:
    return (image @ w).sparse_categorical_crossentropy(label)


@watch
def gradient(w: Vec[S], image: Vec[S1], label: Vec[S1]) -> Vec[S | S1]:
    return loss(w, image, label).gradient(w)[0]


def gradients(w: Tensor, images: Tensor, labels: Tensor) -> Tensor:
    return vmap(gradient, in_axes=(None, 0, 0))(w, images, labels)


class Gradients(NamedTuple):
    """The results of this part.

    Attributes:
        norms: `f32[n]`, the norm of each digit's own gradient.
        hardest: The indices of the digits with the largest norms, largest first.
        guesses: The classifier's prediction for each digit.
        accuracy: The share of correct predictions.
        ratio: The speedup of vmap over the loop.
    """

    norms: Array
    hardest: list[int]
    guesses: Array
    accuracy: float
    ratio: float


def run(digits: Digits, steps: int, count: int = 10) -> Gradients:
    """Train a linear classifier for some steps, then take the gradient of each digit's loss by vmap and by a loop."""
    n = len(digits.labels)
    watch.clear()
    show.heading("2  Per-example gradients: a vmap around a gradient")
    show.say(
        """A linear classifier with weights `w` is trained briefly. `gradient` is the gradient of the loss of one digit.
        vmap maps the images and the labels and shares `w`: in_axes=(None, 0, 0). It opens one brand, named after the
        first mapped argument, so each image is zipped with its label."""
    )
    show.code(loss, gradient, gradients)

    images, labels = Tensor(digits.rows).realize(), Tensor(digits.labels.astype(np.int32)).realize()
    w = _train_classifier(images, labels, steps)
    compiled = TinyJit(gradients)
    show.warm(compiled, w, images, labels)
    each, seconds = show.best_of(RUNS, lambda: compiled(w, images, labels).numpy())
    show.facts([*watch.pairs(), ("gradients(w, images, labels)", vec_type(compiled(w, images, labels)))])

    norms = vmap(lambda g: g.square().sum().sqrt())(Tensor(each)).numpy()
    guesses = (images @ w).argmax(1).numpy()
    accuracy = float((guesses == digits.labels).mean())
    hardest = np.argsort(-norms, kind="stable")[:count].tolist()
    show.say(
        f"""After {steps} steps the classifier recognizes {accuracy:.1%} of the {n:,} digits. The median length of a
        gradient is {np.median(norms):.3f}. These {len(hardest)} digits have the longest gradients:"""
    )
    _gallery(digits, hardest, guesses, norms)

    by_loop, loop_seconds = show.best_of(RUNS, _loop(w, images, labels))
    difference = show.check_same(each, by_loop, TOLERANCE)
    show.say(
        f"The loop calls `gradient`, compiled and warm, for each of the {n:,} digits; times are the best of {RUNS}."
    )
    ratio = show.compare(
        show.Timing("Python loop", f"{n:,} gradients", loop_seconds),
        show.Timing("vmap", f"{n:,} gradients", seconds),
        difference=difference,
        tolerance=TOLERANCE,
    )
    return Gradients(norms, hardest, guesses, accuracy, ratio)


def _train_classifier(images: Tensor, labels: Tensor, steps: int) -> Tensor:
    """Train weights by gradient descent on the mean loss; they start at zero, so the result is not random."""

    @TinyJit
    def step(w: Tensor) -> Tensor:
        mean = vmap(loss, in_axes=(None, 0, 0))(w, images, labels).mean()
        return w - RATE * mean.gradient(w)[0]

    w = Tensor.zeros(images.shape[1], 10).clone().realize()
    for _ in range(steps):
        w = step(w)
    return w.clone().realize()


def _loop(w: Tensor, images: Tensor, labels: Tensor) -> Callable[[], Array]:
    """Return a loop that computes the gradients one by one, by a compiled and warm function."""
    n = int(images.shape[0])
    i = Variable("i", 0, n - 1)
    one = TinyJit(lambda i: gradient(w, images[i], labels[i]).contiguous())
    show.warm(one, i.bind(0))
    return lambda: np.stack([one(i.bind(k)).numpy() for k in range(n)])


def _gallery(digits: Digits, which: list[int], guesses: Array, norms: Array, columns: int = 5) -> None:
    """Print digits in rows, each with its label and its prediction."""
    for start in range(0, len(which), columns):
        part = which[start : start + columns]
        captions = [f"{digits.labels[k]}, read as {guesses[k]}" for k in part]
        lengths = [f"length {norms[k]:.2f}" for k in part]
        drawings = [show.drawing(digits.images[k], INK) for k in part]
        for line in (*zip(*drawings, strict=True), captions, lengths):
            print(show.MARGIN + " ".join(f"{text:<16}" for text in line).rstrip())
        print()
