import torch

X = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
print(torch.vmap(lambda x: x - x.mean(0))(X).tolist())
