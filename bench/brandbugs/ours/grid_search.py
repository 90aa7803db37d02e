"""The loss of every learning rate with every decay, after one step on a parabola.

Mistake: levels exchanged: the inner vmap is named for the rates and the outer one for the decays.
"""

from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Rates(Brand):
    """One example is a learning rate."""


class Decays(Brand):
    """One example is a weight decay."""


def after_a_step(rate: Vec[Rates, Tensor], decay: Vec[Decays, Tensor]) -> Vec[Rates | Decays, Tensor]:
    w = 1.0 - rate * 2.0
    return (w * (1.0 - decay)).square()


def search(rates: Tensor, decays: Tensor) -> Tensor:
    def over_decays(rate: Vec[Rates, Tensor]) -> Vec[Rates, Tensor]:
        return vmap(lambda d: after_a_step(rate, d), axis_name=Decays)(decays)

    return vmap(over_decays, axis_name=Rates)(rates)  # bug: return vmap(over_decays, axis_name=Decays)(rates)


def main() -> None:
    assert search(Tensor([0.0, 1.0]), Tensor([0.0, 0.5, 1.0])).tolist() == [[1.0, 0.25, 0.0]] * 2


if __name__ == "__main__":
    main()
