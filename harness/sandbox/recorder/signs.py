"""Terms of a loss that count with the wrong sign: the larger of a policy's two products where the
smaller bounds it, an entropy that is made small, a part that learns by a loss that is made large.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torch import Tensor
from torch.optim import Optimizer

from harness.sandbox.recorder.nodes import (
    LINEAR,
    GraphNode,
    factor_of,
    inputs_of,
    kind_of,
    leaves_of,
    terms_of,
    through,
)
from harness.sandbox.recorder.sent import Sent

CLASSES = re.compile(r"NllLoss(2D|Nd)?|BinaryCrossEntropy(WithLogits)?")
"""Losses of a classifier, whom nobody trains to be wrong."""

OF_A_LOSS = re.compile(rf"{LINEAR.pattern}|Minimum|Maximum|Clamp|ClampMin|ClampMax|Exp")

OFTEN = 3
"""So many steps by such a loss are no accident."""


class _Term(NamedTuple):
    """What a loss is made of by additions and numbers alone."""

    node: GraphNode
    positive: bool
    """Whether the loss grows with it."""
    subtracted: bool
    """Whether a minus is written before it."""


class Signs:
    """Looks at the loss of each backward."""

    def __init__(self) -> None:
        """No loss was seen yet."""
        self._of_policies: dict[str, None] = {}
        self._goes_up = False
        self._against = 0
        self._sent = Sent()

    def told(self) -> tuple[str, ...]:
        """What losses were given: ``a policy's loss of its entropy with a plus``."""
        if self._goes_up:
            return ()
        wrong = ("a classifier of a loss that is made large",) * (self._against >= OFTEN)
        return (*self._of_policies, *wrong)

    def before_backward(self, roots: Iterable[Tensor]) -> None:
        """A loss goes backward."""
        self._sent.forget_cleared()
        for root in roots:
            if root.grad_fn is not None:
                self._look_at(root.grad_fn)

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to consume gradients. One that goes up wants other signs."""
        self._goes_up = self._goes_up or any(g.get("maximize") for g in optimizer.param_groups)
        self._against += self._sent.consumed_by(optimizer)

    def _look_at(self, root: GraphNode) -> None:
        made_large: list[GraphNode] = []
        for term in _terms(root):
            kind = kind_of(term.node)
            bounds = (kind == "Minimum") is not term.positive
            if kind in ("Minimum", "Maximum") and not bounds and _is_surrogate(term.node):
                self._of_policies[f"a surrogate of the {kind.lower()} of its two products"] = None
            elif "entropy" in term.node.metadata and term.positive:
                if _is_a_policys(term.node, root):
                    self._of_policies["a policy's loss of its entropy with a plus"] = None
            elif CLASSES.fullmatch(kind) and term.subtracted and not term.positive:
                made_large += [] if list(term.node._input_metadata[0].shape) else [term.node]
        others = leaves_of(root, without=made_large) if made_large else {}
        if others:  # who unlearns goes up with all of the model
            went = {key: leaf for node in made_large for key, leaf in leaves_of(node).items()}
            self._sent.to(leaf for key, leaf in went.items() if key not in others)


def _terms(root: GraphNode) -> Iterator[_Term]:
    first = _Term(root, positive=True, subtracted=False)
    seen, waiting = {first}, [first]
    while waiting:
        term = waiting.pop()
        yield term
        kind = kind_of(term.node)
        if not LINEAR.fullmatch(kind) or "entropy" in term.node.metadata:
            continue
        turned = kind in ("Mul", "Div") and (factor_of(term.node, kind) or 1.0) < 0.0
        for made_of, adds in terms_of(term.node, kind):
            positive = term.positive is (adds is not turned)
            new = _Term(made_of, positive, term.subtracted or not adds)
            if made_of is not None and new not in seen:
                seen.add(new)
                waiting.append(new)


def _is_surrogate(node: GraphNode) -> bool:
    """Whether it chooses between a ratio and the same within bounds, times one number each."""
    sides = [set(through(side, LINEAR)) for side in inputs_of(node)]
    if len(sides) != 2 or any(kind_of(side) != "Mul" for side in inputs_of(node)):
        return False
    ratios = {n for side in sides for n in side if kind_of(n) == "Exp"}
    bounded = {x for side in sides for n in side if kind_of(n) == "Clamp" for x in inputs_of(n)}
    return not ratios.isdisjoint(bounded)


def _is_a_policys(entropy: GraphNode, root: GraphNode) -> bool:
    """Whether the loss takes a log-probability of the same distribution as well."""
    of = entropy.metadata["entropy"]
    return any(node.metadata.get("log_prob") == of for node in through(root, OF_A_LOSS))
