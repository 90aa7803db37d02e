import torch

total = torch.zeros(2)
torch.vmap(lambda x: total.add_(x * x))(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
print(total.tolist())
