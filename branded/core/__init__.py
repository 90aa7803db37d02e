"""`vmap` itself: brands, entering and leaving them, and the batching of graphs."""
