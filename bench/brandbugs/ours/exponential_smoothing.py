"""Smooths many series, with one factor that is bound by `partial`.

Mistake: wrong number of arguments: the factor is bound already, and given once more.
"""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def smooth(alpha: Tensor, series: Vec[S, Tensor]) -> Vec[S, Tensor]:
    level = series[0]
    for t in range(1, 4):
        level = alpha * series[t] + (1.0 - alpha) * level
    return level


def main() -> None:
    alpha, table = Tensor(0.5), Tensor([[8.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    last = vmap(partial(smooth, alpha))
    assert last(table).tolist() == [1.0, 1.0]  # bug: assert last(alpha, table).tolist() == [1.0, 1.0]


if __name__ == "__main__":
    main()
