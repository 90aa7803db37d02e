import torch

X, w = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 10.0], [100.0, 1000.0]])
print(torch.vmap(lambda x, w: (x * w).sum(), in_dims=(True, False))(X, w).tolist())
