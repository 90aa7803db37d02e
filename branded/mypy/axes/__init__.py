"""`Axes[...]` in types: the named axes that each operation takes and returns."""
