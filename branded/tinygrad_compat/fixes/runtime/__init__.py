"""Fixes for the running process: threads, forks, interrupts, caches, writes."""
