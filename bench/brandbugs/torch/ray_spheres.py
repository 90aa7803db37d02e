"""The distance along every ray to a sphere."""

import torch
from torch import Tensor
from torch.func import vmap


def distances(origins: Tensor, directions: Tensor, radius: Tensor) -> Tensor:
    """To a sphere around the origin, for rays that hit it."""

    def hit(o: Tensor, d: Tensor) -> Tensor:
        return -(o @ d) - ((o @ d).square() - o @ o + radius.square()).sqrt()

    return vmap(hit)(origins, directions)  # bug: return vmap(hit)(origins, directions, radius)


def main() -> None:
    got = distances(torch.tensor([[-5.0, 0.0], [0.0, 3.0]]), torch.tensor([[1.0, 0.0], [0.0, -1.0]]), torch.tensor(2.0))
    assert got.tolist() == [3.0, 1.0]


if __name__ == "__main__":
    main()
