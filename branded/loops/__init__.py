"""Loops and branches, traced once for all steps: scan, fori_loop, while_loop, map, cond, switch."""
