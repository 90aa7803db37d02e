"""UOp graphs: scopes, the brands of a value, tags, and primitives."""
