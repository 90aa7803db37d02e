"""Fixes of the running process: threads, forks, interrupts, caches, writes."""
