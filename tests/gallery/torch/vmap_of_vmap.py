import torch


def distance(a, b):
    return (a - b).square().sum().sqrt()


points = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
print(torch.vmap(torch.vmap(distance))(points, points).tolist())
