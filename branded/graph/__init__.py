"""UOp graphs: build and rewrite them, and find their open brands."""
