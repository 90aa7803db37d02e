"""The demo: vmap on real data, compared with a loop.

Each part is one small file that reads as a lesson: `haskell`, `pairs`, `gradients`, `ensemble`.
"""

from __future__ import annotations

import os
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tinygrad import Device

from branded import __version__
from branded.learn.demo import digits, ensemble, gradients, haskell, pairs, show


class Sizes(NamedTuple):
    """The sizes of all parts; the defaults are the sizes that the command uses.

    Attributes:
        digits: The number of digits; None for all.
        part: The number of digits in the loop over pairs.
        steps: The number of training steps of the classifier.
        networks: The number of networks in the ensemble.
        epochs: The number of epochs of their training.
        batch: The batch size of a training step.
        held_out: The number of digits in the test set.
    """

    digits: int | None = None
    part: int = 50
    steps: int = 100
    networks: int = 8
    epochs: int = 20
    batch: int = 32
    held_out: int = 357


class DemoResults(NamedTuple):
    """The results of the parts."""

    pairs: pairs.Pairs
    gradients: gradients.Gradients
    ensemble: ensemble.Ensemble


def run(out: Path, sizes: Sizes | None = None) -> DemoResults:
    """Run all parts, print their results, and write their pictures to a folder.

    Args:
        out: The folder for the pictures; it is created if it does not exist.
        sizes: The sizes of all parts; `Sizes()` by default.

    Returns:
        The measured values.

    Raises:
        ArithmeticError: vmap and the loop disagree.
        OSError: The folder cannot be written.

    Example:
        >>> from pathlib import Path
        >>> from branded.learn import demo
        >>> found = demo.run(Path("demo-pictures"))  # doctest: +SKIP

    Source: E. Z. Yang, "vmap in Haskell" (2020), and the first examples in the tutorials of `jax.vmap` and
    `torch.func`: pairwise distances, per-example gradients, model ensembling.
    """
    start = time.perf_counter()
    print(f"\n{show.style_text(f'branded {__version__}', show.BOLD)}: a type-directed vmap for tinygrad\n")
    sizes = sizes or Sizes()
    data = digits.load(sizes.digits)
    haskell.run()
    _introduce(data)
    found = DemoResults(
        pairs.run(data, sizes.part),
        gradients.run(data, sizes.steps),
        ensemble.run(data, sizes.networks, sizes.epochs, sizes.batch, sizes.held_out),
    )
    _summarize(found, sizes)
    draw(out, data, found)
    print(f"{show.MARGIN}The demo took {time.perf_counter() - start:.0f} s.")
    return found


def can_draw() -> bool:
    """Return whether matplotlib is installed, for the pictures."""
    return find_spec("matplotlib") is not None


def _introduce(data: digits.Digits) -> None:
    print(f"{show.MARGIN}The other parts use real data: {len(data.labels):,} digits of")
    print(f"{show.MARGIN}{digits.SOURCE},")
    print(f"{show.MARGIN}with tinygrad {version('tinygrad')} on {Device.DEFAULT}, {os.cpu_count()} cores.\n")


def _summarize(found: DemoResults, sizes: Sizes) -> None:
    show.heading("Summary: speedup over the compiled loop")
    show.facts(
        [
            ("all-pairs distances", f"{show.times(found.pairs.ratio)}, on {sizes.part * sizes.part:,} pairs"),
            ("per-example gradients", f"{show.times(found.gradients.ratio)}, on {len(found.gradients.norms):,} digits"),
            ("ensemble", f"{show.times(found.ensemble.ratio)}, on {sizes.networks} networks"),
        ]
    )
    show.say(
        """Both compute the same values. The loop calls its kernels from Python, once for each example, and vmap calls
        its kernels once for all examples."""
    )


def draw(out: Path, data: digits.Digits, found: DemoResults) -> None:
    """Write the pictures and print their names, or print how to install matplotlib."""
    if not can_draw():
        print(f"{show.MARGIN}No pictures: matplotlib is missing. Install the extra `demo`.\n")
        return
    from branded.learn.demo import pictures

    out.mkdir(parents=True, exist_ok=True)
    print(f"{show.MARGIN}Pictures, in the folder {out}:")
    for path, what in (
        (pictures.distances(out, data, found.pairs), "all distances, digits sorted by class"),
        (pictures.hardest(out, data, found.gradients), "the digits with the longest gradients"),
        (pictures.training(out, found.ensemble), "the training of the ensemble"),
    ):
        print(f"{show.INDENT}{path.name:<16}{what}")
    print()
