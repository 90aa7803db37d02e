import torch

users = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
items = torch.tensor([[2.0, 3.0], [4.0, 5.0]])
print(torch.vmap(lambda user, item: (user * item).sum())(users, items).tolist())
