from functools import partial

from tinygrad import Tensor

from branded import vmap

heights, widths, scale = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor(2.0)
area = vmap(partial(lambda height, width, scale: height * width * scale, scale=scale))
print(area(heights, width=widths).tolist())
