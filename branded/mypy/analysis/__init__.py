"""Analysis of function bodies: reads, escapes, unused batches, calls of other libraries."""
