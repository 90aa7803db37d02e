"""Rules for the shapes of the results of methods, modules, optimizers, derivatives and functions."""
