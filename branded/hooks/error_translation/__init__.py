"""Translation of tinygrad's errors into messages about one example."""
