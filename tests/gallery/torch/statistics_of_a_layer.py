import torch

layer = torch.nn.BatchNorm2d(1)
images = torch.tensor([1.0, 3.0, 7.0, 9.0]).reshape(2, 1, 1, 2)
torch.vmap(lambda image: layer(image.unsqueeze(0)))(images)
print(layer.running_mean.tolist())
