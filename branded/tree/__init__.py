"""Pytrees: the containers in which every transform looks for tensors.

A tuple, list, dict, deque, NamedTuple, dataclass, None, or an instance of a class registered by `register_pytree_node`
is a node; any other value is a leaf.  None is a tree without leaves.  The leaves of a dict are in the order of its
sorted keys, so the order of insertion does not matter.  A rebuilt dict keeps the order of insertion.

Example:
    >>> from branded import tree
    >>> from tinygrad import Tensor
    >>> params = {"w": Tensor([1.0, 2.0]), "b": Tensor(3.0)}
    >>> tree.map(lambda x: x.shape, params), tree.reduce(lambda n, x: n + x.numel(), params, 0)
    ({'w': (2,), 'b': ()}, 3)

Source: `jax.tree`, `jax.tree_util`; optree.
"""

from branded.tree.api import all as all
from branded.tree.api import flatten as flatten
from branded.tree.api import map as map
from branded.tree.api import map_with_path as map_with_path
from branded.tree.api import reduce as reduce
from branded.tree.api import transpose as transpose
from branded.tree.api import unflatten as unflatten
from branded.tree.containers import in_order as in_order
from branded.tree.formatting import describe as describe
from branded.tree.formatting import package_of as package_of
from branded.tree.formatting import short_repr as short_repr
from branded.tree.leaf_tensors import advice as advice
from branded.tree.leaf_tensors import as_tensor as as_tensor
from branded.tree.leaf_tensors import check_fits as check_fits
from branded.tree.leaf_tensors import fits as fits
from branded.tree.leaf_tensors import number_of as number_of
from branded.tree.leaf_tensors import too_large as too_large
from branded.tree.leaf_tensors import uops as uops
from branded.tree.leaf_tensors import with_memory_dtype as with_memory_dtype
from branded.tree.leaf_tensors import with_uops as with_uops
from branded.tree.nodes import Axis as Axis
from branded.tree.nodes import Node as Node
from branded.tree.nodes import check_axes as check_axes
from branded.tree.nodes import check_axis as check_axis
from branded.tree.nodes import containers as containers
from branded.tree.nodes import leaves as leaves
from branded.tree.nodes import node as node
from branded.tree.nodes import orders as orders
from branded.tree.nodes import outline as outline
from branded.tree.nodes import rebuild as rebuild
from branded.tree.nodes import register_pytree_node as register_pytree_node
from branded.tree.nodes import treedef_key as treedef_key
from branded.tree.paths import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr, leaves_with_path
from branded.tree.paths import argument_paths as argument_paths
from branded.tree.paths import paths as paths
from branded.tree.prefix import Axes as Axes
from branded.tree.prefix import broadcast_prefix as broadcast_prefix
from branded.tree.ravel import ravel
from branded.tree.static_fields import static
from branded.tree.structures import Structure, structure

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "SequenceKey",
    "Structure",
    "all",
    "flatten",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "ravel",
    "reduce",
    "register_pytree_node",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
