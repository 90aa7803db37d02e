"""Sharding over several devices.

The examples of a brand are distributed among the devices.
A value on one device is copied to the others when an operation combines it with a sharded value.  A single-device
operation, such as a loop, runs on each device for that device's examples:

    loop(x, w)      x: f32[8, 3] of users:8, the first four on CPU:0 and the others on CPU:1; w on CPU:0
    on CPU:0        loop(x[0:4], w)
    on CPU:1        loop(x[4:8], w copied to CPU:1)
    its result      both, which are the shards of f32[8, 3]
"""

from branded.core.sharding.layout import shard

__all__ = ["shard"]
