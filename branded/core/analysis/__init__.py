"""Analysis of graphs: invariant values and shared memory."""
