"""UOp graphs: scopes, the brands over which a value varies, tags, and primitives."""
