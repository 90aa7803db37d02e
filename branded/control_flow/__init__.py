"""Loops and branches: `scan`, `while_loop`, `cond`, and `map`, traced once."""
