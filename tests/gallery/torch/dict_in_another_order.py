import torch

data = {"rows": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "columns": torch.tensor([[10.0, 20.0], [30.0, 40.0]])}
axes = {"columns": 1, "rows": 0}
print(torch.vmap(lambda d: d["rows"] + d["columns"], in_dims=(axes,))(data).tolist())
