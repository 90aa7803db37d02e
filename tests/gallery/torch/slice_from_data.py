import torch

X, lengths = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([2, 1])
print(torch.vmap(lambda x, n: x[:n].sum())(X, lengths).tolist())
