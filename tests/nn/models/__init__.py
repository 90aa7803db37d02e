"""Small configurations of well-known models, in the manner in which models are written for tinygrad."""
