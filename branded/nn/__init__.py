"""Modules as functions of their state: `functional_call` and `stack_module_state`."""
