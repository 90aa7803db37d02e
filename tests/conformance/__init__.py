"""The law of vmap on every operation of tinygrad: a table of cases, and a list of what is no case and why."""

import branded as branded  # finds a compiler before tinygrad looks for one
