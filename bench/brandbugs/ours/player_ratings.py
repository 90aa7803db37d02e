"""The chance of every home team to beat every guest, by the ratings of both.

Mistake: named brands mixed: the home teams are mapped by the name of the guests, which opens it twice.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Home(Brand):
    """One example is a team that plays at home."""


class Guest(Brand):
    """One example is a team that came by bus."""


def chance(home: Vec[Home, Tensor], guest: Vec[Guest, Tensor]) -> Vec[Home | Guest, Tensor]:
    return (home + 0.5 - guest).sigmoid()


def table(home: Tensor, guests: Tensor) -> Tensor:
    def row(h: Vec[Home, Tensor]) -> Vec[Home, Tensor]:
        return vmap(lambda g: chance(h, g), axis_name=Guest)(guests)

    return vmap(row, axis_name=Home)(home)  # bug: return vmap(row, axis_name=Guest)(home)


def main() -> None:
    assert np.allclose(table(Tensor([0.0, 9.5]), Tensor([0.5, 10.0])).numpy(), [[0.5, 0.0], [1.0, 0.5]], atol=1e-3)


if __name__ == "__main__":
    main()
