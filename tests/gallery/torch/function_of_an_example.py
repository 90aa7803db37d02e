import torch

lines = torch.vmap(lambda slope: lambda x: slope * x)(torch.tensor([1.0, 2.0]))
print(lines(3.0).tolist())
