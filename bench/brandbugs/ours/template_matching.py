"""How well every signal matches every template.

Mistake: zipped brands: the templates enter the brand of the signals.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, brand


class Signals(Brand):
    """One example is a recorded signal."""


class Templates(Brand):
    """One example is a known shape."""


def match(signal: Vec[Signals, Tensor], template: Vec[Templates, Tensor]) -> Vec[Signals | Templates, Tensor]:
    return (signal * template).sum() / (signal.square().sum() * template.square().sum()).sqrt()


def matches(signals: Tensor, templates: Tensor) -> Tensor:
    with brand(Signals, len(signals)) as s, brand(Templates, len(templates)) as t:
        one, other = s.vec(signals), t.vec(templates)  # bug: one, other = s.vec(signals), s.vec(templates)
        return s.unvec(t.unvec(match(one, other)))


def main() -> None:
    got = matches(Tensor([[3.0, 0.0], [0.0, 2.0]]), Tensor([[1.0, 0.0], [0.0, 5.0]]))
    assert np.allclose(got.numpy(), np.eye(2), atol=1e-5)


if __name__ == "__main__":
    main()
