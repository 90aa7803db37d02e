from tinygrad import Tensor

from branded import vmap

data = {"rows": Tensor([[1.0, 2.0], [3.0, 4.0]]), "columns": Tensor([[10.0, 20.0], [30.0, 40.0]])}
axes = {"columns": 1, "rows": 0}
print(vmap(lambda d: d["rows"] + d["columns"], in_axes=(axes,))(data).tolist())
