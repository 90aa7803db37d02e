import torch


def power(x, n):
    out = torch.ones(())
    for _ in range(n):
        out = out * x
    return out


print(torch.vmap(power)(torch.tensor([2.0, 3.0]), torch.tensor([3, 2])).tolist())
