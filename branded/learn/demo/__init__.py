"""The demo: vmap on real data, next to the loop it replaces.

Each part is one small file, and is a lesson to read: `haskell`, `pairs`, `gradients`, `ensemble`.
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
    """How much of everything; the default is what the command shows.

    Attributes:
        digits: How many of the digits; None for all.
        part: The loop over pairs takes this many digits.
        steps: For how many steps the classifier is trained.
        networks: How many networks the ensemble has.
        epochs: How often they see each digit.
        batch: How many digits one training step sees.
        held_out: How many digits are kept for the test.
    """

    digits: int | None = None
    part: int = 50
    steps: int = 100
    networks: int = 8
    epochs: int = 20
    batch: int = 32
    held_out: int = 357


class DemoResults(NamedTuple):
    """What the parts found."""

    pairs: pairs.Pairs
    gradients: gradients.Gradients
    ensemble: ensemble.Ensemble


def run(out: Path, sizes: Sizes | None = None) -> DemoResults:
    """Run all parts, print what they find, and write their pictures to a folder.

    Args:
        out: The folder for the pictures; it is made where it is missing.
        sizes: How much of everything; `Sizes()` where none are given.

    Returns:
        The numbers behind what was printed.

    Raises:
        ArithmeticError: vmap and the loop disagree.
        OSError: The folder cannot be written.

    Example:
        >>> from pathlib import Path
        >>> from branded.learn import demo
        >>> found = demo.run(Path("demo-pictures"))  # doctest: +SKIP

    Source: E. Z. Yang, "vmap in Haskell" (2020), and what the tutorials of `jax.vmap` and `torch.func` show first:
    pairwise distances, per-example gradients, model ensembling.
    """
    start = time.perf_counter()
    print(f"\n{show.styled(f'branded {__version__}', show.BOLD)}: a type-directed vmap for tinygrad\n")
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
    print(f"{show.MARGIN}All of it took {time.perf_counter() - start:.0f} s.")
    return found


def can_draw() -> bool:
    """Is matplotlib there, for the pictures?"""
    return find_spec("matplotlib") is not None


def _introduce(data: digits.Digits) -> None:
    print(f"{show.MARGIN}The rest is on real data: {len(data.labels):,} digits of")
    print(f"{show.MARGIN}{digits.SOURCE},")
    print(f"{show.MARGIN}with tinygrad {version('tinygrad')} on {Device.DEFAULT}, {os.cpu_count()} cores.\n")


def _summarize(found: DemoResults, sizes: Sizes) -> None:
    show.heading("Summary: how many times as fast as the compiled loop")
    show.facts(
        [
            ("all-pairs distances", f"{show.times(found.pairs.ratio)}, on {sizes.part * sizes.part:,} pairs"),
            ("per-example gradients", f"{show.times(found.gradients.ratio)}, on {len(found.gradients.norms):,} digits"),
            ("ensemble", f"{show.times(found.ensemble.ratio)}, on {sizes.networks} networks"),
        ]
    )
    show.say(
        """Both compute the same in kernels of the same kind. The loop calls them, from Python, once for each example;
        vmap calls them once for all."""
    )


def draw(out: Path, data: digits.Digits, found: DemoResults) -> None:
    """Write the pictures and name them, or say what to install for them."""
    if not can_draw():
        print(f"{show.MARGIN}No pictures: matplotlib is missing (pip install 'branded[demo]').\n")
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
