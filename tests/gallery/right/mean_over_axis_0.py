from tinygrad import Tensor

from branded import pmean, vmap

X = Tensor([[1.0, 10.0], [3.0, 30.0]])
print(vmap(lambda x: x - pmean(x, "batch"), axis_name="batch")(X).tolist())
