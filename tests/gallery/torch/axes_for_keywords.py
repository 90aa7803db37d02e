import torch

X, factor = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor(10.0)
scaled = torch.vmap(lambda x, factor: x * factor, in_dims=(0, None))
print(scaled(X, factor=factor).tolist())
