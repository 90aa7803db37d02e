"""What composes with vmap."""
