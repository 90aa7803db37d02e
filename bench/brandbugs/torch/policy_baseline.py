"""Advantages: the return of each episode less the mean return of all."""

import torch
from torch import Tensor
from torch.func import vmap


@vmap
def episode_return(rewards: Tensor) -> Tensor:
    return (rewards * 0.5 ** torch.arange(rewards.shape[0])).sum()


def advantage(value: Tensor, baseline: Tensor) -> Tensor:
    return value - baseline


def advantages(rewards: Tensor) -> Tensor:
    returns = episode_return(rewards)
    mean = returns.mean()
    return vmap(lambda r: advantage(r, mean))(returns)  # bug: return vmap(lambda r: advantage(r, r.mean()))(returns)


def main() -> None:
    assert advantages(torch.tensor([[1.0, 2.0], [0.0, 0.0]])).tolist() == [1.0, -1.0]


if __name__ == "__main__":
    main()
