import torch

print(torch.vmap(torch.func.grad(lambda x: x * x))(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist())
