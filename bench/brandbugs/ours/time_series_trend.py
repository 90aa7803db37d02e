"""The slope of the trend of every series of three points.

Mistake: monomorphic body: the body is the function of one series in a notebook, which prints its values.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def slope(y: Vec[S, Tensor]) -> Vec[S, Tensor]:
    t = Tensor([-1.0, 0.0, 1.0])
    return (t * y).sum() / t.square().sum()


def report(y: Tensor) -> Tensor:
    s = (y[2] - y[0]) / 2
    print(f"slope {s.item()}", end="\r")
    return s


def trends(series: Tensor) -> Tensor:
    return vmap(slope)(series)  # bug: return vmap(report)(series)


def main() -> None:
    series = Tensor([[1.0, 3.0, 5.0], [4.0, 4.0, 4.0]])
    assert trends(series).tolist() == [2.0, 0.0] and report(series[0]).item() == 2.0


if __name__ == "__main__":
    main()
