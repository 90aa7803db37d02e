"""The law of vmap for every operation of tinygrad: a table of cases, and the names that are not cases, with reasons."""

import branded as branded  # finds a compiler before tinygrad looks for one
