"""Code generation and execution for one device kind."""
