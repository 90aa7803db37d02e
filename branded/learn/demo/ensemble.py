"""An ensemble of networks, trained in one vmap over their parameters.

Functions that the demo prints have no docstrings: the printed text explains them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Never

import numpy as np
from tinygrad import Tensor, TinyJit
from tinygrad.helpers import tqdm

from branded.core.values import vec_type
from branded.core.vmap import vmap
from branded.learn.demo import show
from branded.learn.demo.digits import Array, Digits
from branded.typing import S
from branded.vec import Vec

TOLERANCE = 1e-3
HIDDEN = 32
RATE = 0.3
watch = show.Watch()


class Network(NamedTuple, Generic[S]):
    w1: Vec[S]
    b1: Vec[S]
    w2: Vec[S]
    b2: Vec[S]


@watch
def scores(network: Network[S], images: Tensor) -> Vec[S]:
    return (images @ network.w1 + network.b1).relu() @ network.w2 + network.b2


def train_step(
    network: Network[S],
    images: Tensor,
    labels: Tensor,
) -> tuple[Network[S], Vec[S]]:
    loss = scores(network, images).sparse_categorical_crossentropy(labels)
    gradient = loss.gradient(*network)
    return Network(*(p - RATE * g for p, g in zip(network, gradient, strict=True))), loss


def train_all(networks: Networks, images: Tensor, labels: Tensor) -> tuple[Networks, Tensor]:
    return vmap(train_step, in_axes=(0, None, None))(networks, images, labels)


def accuracy(network: Network[S], images: Tensor, labels: Tensor) -> Vec[S]:
    return (scores(network, images).argmax(-1) == labels).mean()


Networks = Network[Never]
Step = Callable[[Networks, Tensor, Tensor], tuple[Networks, Tensor]]
Accuracy = Callable[[Networks, Tensor, Tensor], Tensor]
Batch = tuple[Tensor, Tensor]


class Ensemble(NamedTuple):
    """The results of this part.

    Attributes:
        losses: `f32[epochs, networks]`, the mean training loss of each epoch.
        curves: `f32[epochs, networks]`, the accuracy on held-out digits after each epoch.
        vote: The accuracy of the ensemble, by the mean of the probabilities of all networks.
        ratio: The speedup of vmap over the loop.
    """

    losses: Array
    curves: Array
    vote: float
    ratio: float


class _Trained(NamedTuple):
    network: list[Array]
    losses: Array
    curves: Array


def run(digits: Digits, networks: int, epochs: int, batch: int, held_out: int, seed: int = 0) -> Ensemble:
    """Train networks together by vmap, and one after another by a loop, from the same weights on the same batches."""
    watch.clear()
    show.heading(f"3  An ensemble: {networks} networks trained at once by a vmap over their parameters")
    batches, test = _train_test_split(digits, batch, held_out, seed)
    show.say(
        f"""vmap maps the whole training step over {networks} networks with different initial weights. All share the
        images and labels: in_axes=(0, None, None). They are trained on {len(batches) * batch:,} digits in batches of
        {batch} for {epochs} epochs, and tested on {held_out} held-out digits."""
    )
    show.code(Network, scores, train_step, train_all)

    starts = [_start(np.random.default_rng((seed, k)), digits.rows.shape[1]) for k in range(networks)]
    stacked = [np.stack(arrays) for arrays in zip(*starts, strict=True)]
    step, score = TinyJit(train_all), TinyJit(vmap(accuracy, in_axes=(0, None, None)))
    _warm(step, score, stacked, batches[0], test)
    new, loss = step(_network(stacked), *batches[0])
    outside = [("train_all(...)[0].w1", vec_type(new.w1)), ("train_all(...)[1]", vec_type(loss))]
    show.facts([*watch.pairs(), *outside])

    with show.progress(epochs, "vmap: all at once") as bar:
        together, seconds = _time_call(lambda: _train(step, score, stacked, batches, test, epochs, bar))
    one_step, one_score = TinyJit(train_step), TinyJit(accuracy)
    _warm(one_step, one_score, starts[0], batches[0], test)
    with show.progress(networks * epochs, "loop: one by one") as bar:
        alone, loop_seconds = _time_call(
            lambda: [_train(one_step, one_score, start, batches, test, epochs, bar) for start in starts]
        )
    print()
    vote = _vote(together.network, test)
    show.facts(
        [
            ("held-out accuracy", "  ".join(f"{a:.1%}" for a in together.curves[-1])),
            ("accuracy of the vote", f"{vote:.1%}"),
        ]
    )

    show.say(
        """The loop trains the same networks one after another, with the compiled step of one network (TinyJit). Both
        were warm and ran once. The comparison covers the final weights and all losses and accuracies."""
    )
    difference = _difference(together, alone)
    work = f"{networks} networks x {epochs * len(batches):,} steps"
    ratio = show.compare(
        show.Timing("Python loop", work, loop_seconds),
        show.Timing("vmap", work, seconds),
        difference=difference,
        tolerance=TOLERANCE,
    )
    return Ensemble(together.losses, together.curves, vote, ratio)


def _train_test_split(digits: Digits, batch: int, held_out: int, seed: int) -> tuple[list[Batch], Batch]:
    """Return shuffled training batches and the held-out test set."""
    order = np.random.default_rng(seed).permutation(len(digits.labels))
    shuffled = digits.part(order)

    def tensors(part: slice) -> Batch:
        rows, labels = shuffled.rows[part], shuffled.labels[part].astype(np.int32)
        return Tensor(rows).realize(), Tensor(labels).realize()

    end = len(order) - held_out
    return [tensors(slice(i, i + batch)) for i in range(0, end - batch + 1, batch)], tensors(slice(end, None))


def _start(rng: np.random.Generator, inputs: int) -> list[Array]:
    """Return the initial weights of a network (He initialization)."""

    def weights(n: int, m: int) -> Array:
        return rng.normal(0.0, (2 / n) ** 0.5, (n, m)).astype(np.float32)

    return [weights(inputs, HIDDEN), np.zeros(HIDDEN, np.float32), weights(HIDDEN, 10), np.zeros(10, np.float32)]


def _network(arrays: Sequence[Array]) -> Networks:
    return Network(*(Tensor(a).realize() for a in arrays))


def _warm(step: Step, score: Accuracy, start: Sequence[Array], batch: Batch, test: Batch) -> None:
    network = _network(start)
    show.warm(step, network, *batch)
    show.warm(score, network, *test)


def _train(
    step: Step,
    score: Accuracy,
    start: Sequence[Array],
    batches: Sequence[Batch],
    test: Batch,
    epochs: int,
    bar: tqdm[int],
) -> _Trained:
    """Train one network, or all networks with the same code; only `step` differs."""
    network = _network(start)
    losses, curves = [], []
    for _ in range(epochs):
        total: Array = np.zeros((), np.float32)
        for images, labels in batches:
            network, loss = step(network, images, labels)
            total = total + loss.numpy()
        losses.append(total / len(batches))
        curves.append(score(network, *test).numpy())
        bar.update(1)
    return _Trained([p.numpy() for p in network], np.array(losses), np.array(curves))


def _time_call(f: Callable[[], show.R]) -> tuple[show.R, float]:
    start = time.perf_counter()
    result = f()
    return result, time.perf_counter() - start


def _vote(stacked: Sequence[Array], test: Batch) -> float:
    images, labels = test
    each = vmap(lambda network: scores(network, images).softmax())(_network(stacked))
    return float((each.mean(0).argmax(-1) == labels).mean().item())


def _difference(together: _Trained, alone: Sequence[_Trained]) -> float:
    """Return the largest difference of a weight, loss or accuracy between training together and training alone."""
    pairs = [*zip(together.network, map(np.stack, zip(*(one.network for one in alone), strict=True)), strict=True)]
    pairs.append((together.losses, np.stack([one.losses for one in alone], axis=1)))
    pairs.append((together.curves, np.stack([one.curves for one in alone], axis=1)))
    return max(show.check_same(got, want, TOLERANCE) for got, want in pairs)
