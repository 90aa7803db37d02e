"""Chunks of a batch: automatic size, memory limits, and saved results."""
