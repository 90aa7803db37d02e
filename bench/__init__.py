"""vmap against what a person would write by hand: `python -m bench --help`."""
