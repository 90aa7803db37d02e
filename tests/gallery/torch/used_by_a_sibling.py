import torch

kept = []


def keep(x):
    kept.append(x * 10)
    return x


torch.vmap(keep)(torch.tensor([1.0, 2.0]))
print(torch.vmap(lambda y: kept[0] + y)(torch.tensor([1.0, 2.0])).tolist())
