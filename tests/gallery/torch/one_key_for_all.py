import torch

generator = torch.Generator().manual_seed(0)
noise = torch.vmap(lambda x: 0 * x + torch.randn((), generator=generator))(torch.tensor([1.0, 2.0, 3.0]))
print(len(set(noise.tolist())))  # how many different numbers
