"""How a per-example tensor behaves in the methods of tinygrad."""
