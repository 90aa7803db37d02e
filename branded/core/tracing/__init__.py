"""Tracing functions into graphs, with their side effects."""
