"""Networks that only make targets of a loss, and are trained by it: they move towards their pupil."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor

GraphNode = Any
"""A node of autograd's graph."""

OFTEN = 3
"""In so many losses."""


class Teachers:
    """Looks at losses whose soft targets carry gradient, as those of a teacher without ``no_grad``."""

    def __init__(self) -> None:
        """No loss was seen yet."""
        self.targets: deque[GraphNode] = deque(maxlen=16)
        """What made targets since the last backward."""
        self._taught = Counter[int]()
        self._learning: set[int] = set()
        """Parameters to which a gradient came through targets, and those to which one came otherwise
        since: a teacher may be trained first. By their ids.
        """

    def before_backward(
        self,
        graph: Mapping[GraphNode, None],
        leaves: Mapping[int, Tensor],
        without: Callable[[Iterable[GraphNode]], Iterable[int]],
        held: set[int],
    ) -> None:
        """A loss goes backward through ``graph`` to ``leaves``, of which an optimizer has ``held``.
        ``without``: those that it comes to when it goes by these nodes.
        """
        targets = [node for node in self.targets if node in graph]
        self.targets.clear()
        trained = leaves.keys() & held
        otherwise = trained & {*without(targets)} if targets else trained
        self._learning |= otherwise & self._taught.keys()
        self._taught.update(trained - otherwise)

    @property
    def are_taught(self) -> bool:
        """Whether some parameters learn through targets alone."""
        return any(n >= OFTEN for key, n in self._taught.items() if key not in self._learning)
