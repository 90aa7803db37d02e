"""Messages on graphs: segment sums, gathers by index, and a batch of graphs."""

from __future__ import annotations

from typing import NamedTuple

from branded import Vec, segment_sum, vmap
from branded.typing import S, S1
from tinygrad import Tensor, dtypes


class Graph(NamedTuple):
    nodes: Tensor
    senders: Tensor
    receivers: Tensor

    @property
    def size(self) -> int:
        return self.nodes.shape[-2]

    def with_nodes(self, nodes: Tensor) -> Graph:
        return self._replace(nodes=nodes)


def message(sender: Vec[S], receiver: Vec[S1], weight: Tensor) -> Vec[S | S1]:
    return (sender * weight - receiver).tanh()  # read: return (sender * weight - receiver).tanh().tolist()


def gather(nodes: Tensor, index: Tensor) -> Tensor:
    return vmap(lambda i: nodes[i])(index)  # read: gathered = vmap(lambda i: nodes[int(i + 0)])(index)


def propagate(graph: Graph, weight: Tensor) -> Graph:
    sent, received = gather(graph.nodes, graph.senders), gather(graph.nodes, graph.receivers)
    messages = vmap(message, in_axes=(0, 0, None))(sent, received, weight)  # none: messages = vmap(message)(sent, received, weight)
    total = segment_sum(messages, graph.receivers, graph.size)
    return graph.with_nodes(graph.nodes + total)  # key: return graph.with_node(graph.nodes + total)


def readout(graph: Graph) -> Tensor:
    return graph.nodes.mean(axis=0)  # read: return Tensor(graph.node.mean(axis=0).item())


def degrees(graph: Graph) -> Tensor:
    ones = Tensor.ones(graph.receivers.shape[0])
    return segment_sum(ones, graph.receivers, graph.size)


def classify(graph: Graph, weights: list[Tensor]) -> Tensor:
    for weight in weights:
        graph = propagate(graph, weight)
    return readout(graph).softmax()


nodes = Tensor.arange(2 * 4 * 3).reshape(2, 4, 3).float().sin()
senders = Tensor([[0, 1, 2, 3, 0], [0, 0, 0, 1, 2]], dtype=dtypes.int32)
receivers = Tensor([[1, 2, 3, 0, 2], [1, 2, 3, 2, 3]], dtype=dtypes.int32)
graphs = Graph(nodes, senders, receivers)
weights = [Tensor([1.0, 0.5, -0.5]), Tensor([0.1, 0.2, 0.3])]
classes = vmap(lambda g: classify(g, weights))(graphs)
counts = vmap(degrees)(graphs)
busiest = vmap(lambda c: c.argmax())(counts)  # read: busiest = vmap(lambda c: c.tolist().index(c.max()))(counts)
strong = vmap(lambda c: (c.max() > 0.4).where(c.argmax(), -1))(classes)  # if: strong = vmap(lambda c: c.argmax() if c.max() > 0.4 else Tensor(-1))(classes)
similar = vmap(lambda a: vmap(lambda b: (a * b).sum())(classes))(classes)  # zip: similar = vmap(lambda a, b: (a * b).sum())(classes, classes)
result = classes, counts, busiest, strong, similar
