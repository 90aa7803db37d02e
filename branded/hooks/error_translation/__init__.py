"""Translation of tinygrad's errors into the terms of the user's code."""
