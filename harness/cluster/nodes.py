"""The nodes of a cluster, and how their cores are shared out to graders."""

from dataclasses import dataclass
from typing import Any

EACH = 4
"""Cores of one grader at most: its own thread of Python reads what they record, and is busy for a
tenth of their time.
"""

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One machine of a cluster."""

    id: str
    """Its id in the cluster."""
    host: str
    """Its name or address, for readers."""
    cores: int
    """Cores that the cluster may use there."""

    @property
    def shares(self) -> tuple[int, ...]:
        """The cores of each of its graders."""
        parts = -(-self.cores // EACH)
        return tuple((self.cores + n) // parts for n in range(parts))


def nodes_of(ray: Any) -> tuple[ClusterNode, ...]:
    """Those that are alive and have cores to give."""
    return tuple(
        ClusterNode(
            found["NodeID"], f"{found['NodeManagerHostname']} ({found['NodeID'][:8]})", cores
        )
        for found in ray.nodes()
        if found["Alive"] and (cores := int(found["Resources"].get("CPU", 0)))
    )


def memory_of(cores: int) -> int:
    """Bytes that a grader is given: the jail and the oracle hold torch, and each program has its own."""
    return GIB + cores * GIB // 2


def pinned(ray: Any, node: ClusterNode) -> Any:
    """A strategy that places an actor on one node and on no other."""
    strategies = ray.util.scheduling_strategies
    return strategies.NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
