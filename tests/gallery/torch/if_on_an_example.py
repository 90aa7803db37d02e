import torch

print(torch.vmap(lambda x: x if x > 0 else -x)(torch.tensor([1.0, -2.0])).tolist())
