import torch

table = [10.0, 20.0, 30.0]
print(torch.vmap(lambda i: table[i.item()])(torch.tensor([2, 0])).tolist())
