"""Several devices: a brand whose examples are sharded over them.

What lies on one device is copied to the others where it meets what lies on all.  What runs on one device, as a loop
does, runs on each for the examples that it has:

    loop(x, w)      x: f32[8, 3] of users:8, the first four of them on CPU:0 and the others on CPU:1; w on CPU:0
    on CPU:0        loop(x[0:4], w)
    on CPU:1        loop(x[4:8], w copied to CPU:1)
    its result      both, which are the shards of f32[8, 3]
"""

from branded.core.sharding.layout import shard

__all__ = ["shard"]
