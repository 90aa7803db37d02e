import torch

w, X = torch.tensor([1.0, 10.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print(torch.vmap(lambda w, x: (w * x).sum())(w, X).tolist())
