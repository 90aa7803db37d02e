"""Compare vmap with programs that are batched by hand: `python -m bench --help`."""
