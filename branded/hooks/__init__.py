"""The behavior of per-example tensors in the methods of tinygrad."""
