"""Every filter of a bank on one signal.

Mistake: in_axes: the signal is mapped and the bank is shared; the axes are in the wrong order.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def response(signal: Tensor, taps: Vec[S, Tensor]) -> Vec[S, Tensor]:
    """The largest output of one filter with two taps."""
    return (signal[:-1] * taps[0] + signal[1:] * taps[1]).max()


def bank(signal: Tensor, filters: Tensor) -> Tensor:
    mapped = vmap(response, in_axes=(None, 0))  # bug: mapped = vmap(response, in_axes=(0, None))
    return mapped(signal, filters)


def main() -> None:
    assert bank(Tensor([1.0, 2.0, 4.0]), Tensor([[1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])).tolist() == [2.0, 2.0, 6.0]


if __name__ == "__main__":
    main()
