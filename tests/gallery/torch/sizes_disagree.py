import torch

heights, widths, scales = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([2.0])
area = torch.vmap(lambda height, width, scale: height * width * scale)
print(area(heights, widths, scales).tolist())
