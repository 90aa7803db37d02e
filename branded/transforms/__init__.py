"""What composes with vmap: collectives, modules, jit."""
