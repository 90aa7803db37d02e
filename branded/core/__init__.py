"""`vmap`: opening and closing brands, and batching graphs.

`vmap.py` has the function that users call.  `boundary.py` moves values into a brand and out of it.  `batching/` has the
batching rules.  `tracing/` traces the bodies of loops, branches and programs.
"""
