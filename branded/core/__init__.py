"""`vmap`: opening and closing brands, and batching graphs."""
