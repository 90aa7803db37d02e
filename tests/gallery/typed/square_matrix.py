from tinygrad import Tensor

from branded import Axes, Brand, as_axes, vmap


class Days(Brand): ...


class Shares(Brand): ...


def gain(share: Axes[Days]) -> Axes[()]:
    return share[1] / share[0]


prices = as_axes(Tensor([[1.0, 2.0], [10.0, 40.0]]), Days, Shares)
gains: Axes[Shares] = vmap(gain)(prices)
print(gains.tolist())
