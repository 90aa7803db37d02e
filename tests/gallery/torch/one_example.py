import torch

brightness = torch.vmap(lambda image: image.max())
image = torch.tensor([[0.0, 0.5], [0.5, 1.0]])
print(brightness(image).tolist())
