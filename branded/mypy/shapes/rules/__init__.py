"""The shapes of results of methods, modules, optimizers, derivatives and functions."""
