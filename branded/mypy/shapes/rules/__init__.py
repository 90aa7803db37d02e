"""The shapes of results of tensor methods, modules, optimizers, derivatives and library functions."""
