from tinygrad import Tensor

from branded import vmap

heights, widths, scales = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([2.0])
area = vmap(lambda height, width, scale: height * width * scale)
print(area(heights, scale=scales, width=widths).tolist())
