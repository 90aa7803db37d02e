import torch

steps = torch.tensor([1.0, 2.0])


def total(x):
    last = x

    def step(t):
        nonlocal last
        last = x * t
        return last

    torch.vmap(step)(steps)
    return last


print(torch.vmap(total)(torch.tensor([10.0, 20.0])).tolist())
