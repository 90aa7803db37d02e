"""Loops and branches: `scan`, `while_loop`, `cond`, and `map`, traced once.

A call of `scan(f, init, xs)` passes through these files in this order.

- `loops`           the public functions
- `frontend`        checks the trees, and traces `f`
- `effects`         performs the effects of the body
- `scan`            the primitive: its rules, and the loop of a traced body
- `loop_primitive`  lowers any loop to one call in the graph
"""
