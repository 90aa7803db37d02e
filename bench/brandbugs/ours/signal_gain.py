"""A batch of signals through one gain curve.

Mistake: in_axes: bools say which arguments are mapped, though False is the axis 0 in Python.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def amplify(signal: Vec[S1, Tensor], gain: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return (signal * gain).clip(-1.0, 1.0)


def main() -> None:
    amplifier = vmap(amplify, in_axes=(0, None))  # bug: amplifier = vmap(amplify, in_axes=(True, False))
    out = amplifier(Tensor([[0.25, -4.0], [0.5, 0.125]]), Tensor([2.0, 1.0]))
    assert out.tolist() == [[0.5, -1.0], [1.0, 0.125]]


if __name__ == "__main__":
    main()
