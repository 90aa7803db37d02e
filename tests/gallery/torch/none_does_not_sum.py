import torch

X = torch.tensor([1.0, 2.0, 3.0])
print(torch.vmap(lambda x: x * x, out_dims=None)(X).tolist())
