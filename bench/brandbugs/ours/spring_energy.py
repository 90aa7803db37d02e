"""The energy of springs that push and pull, and break when too long.

Mistake: branch on a Vec: an `if` on the length of one spring, where each spring has its own.
"""

from typing import Generic, NamedTuple, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


class Spring(NamedTuple, Generic[S]):
    """The two ends of a spring."""

    a: Vec[S, Tensor]
    b: Vec[S, Tensor]


def energy(spring: Spring[S]) -> Vec[S, Tensor]:
    length = (spring.a - spring.b).square().sum().sqrt()
    whole = (length - 1.0).square()  # bug+: if length > 3.0: return whole * 0.0
    return (length > 3.0).where(0.0, whole)  # bug: return whole


def main() -> None:
    ends = Tensor([[0.0, 2.0], [0.0, 9.0], [1.0, 0.0]])
    assert vmap(energy)(Spring(Tensor([[0.0, 0.0]] * 3), ends)).tolist() == [1.0, 0.0, 0.0]


if __name__ == "__main__":
    main()
