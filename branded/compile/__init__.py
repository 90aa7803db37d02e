"""`jit` and compiled programs: arguments, donation, kernels, buffers, and loops.

A repeated call of `jit(f)(x)` passes through these files in this order.

- `jit`          `Jitted.__call__` lists the steps of a call
- `arguments`    reads the arguments: their form, which identifies the program, and their values
- `executable`   binds the memory of the arguments (`inputs`), and runs the kernels
- `output_pool`  memory for the results
"""
