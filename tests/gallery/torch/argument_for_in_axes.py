import torch

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
sums = torch.vmap(lambda x: x.sum(), X)
print(sums.tolist())
