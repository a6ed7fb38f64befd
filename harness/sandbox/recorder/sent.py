"""Gradients that a loss sent into parameters, until they are cleared or an optimizer consumes them."""

from collections.abc import Iterable

from torch import Tensor
from torch.optim import Optimizer
from torch.utils.weak import TensorWeakRef

from harness.sandbox.recorder.tape import dense


class Sent:
    """Parameters that losses of one kind went to. Keeps none of them alive."""

    def __init__(self) -> None:
        """Nothing was sent yet."""
        self._sent: list[list[TensorWeakRef]] = []

    def to(self, leaves: Iterable[Tensor]) -> None:
        """A loss is about to send a gradient to these."""
        found = [TensorWeakRef(leaf) for leaf in leaves]
        self._sent += [found] if found else []

    def forget_cleared(self) -> None:
        """Another loss goes backward: what was cleared by then is consumed by nobody."""
        self._sent = [sent for sent in self._sent if any(map(_has_gradient, sent))]

    def consumed_by(self, optimizer: Optimizer) -> bool:
        """Whether this step is about to consume some of it."""
        if not self._sent:
            return False
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        ready = [sent for sent in self._sent if any(id(leaf()) in held for leaf in sent)]
        self._sent = [sent for sent in self._sent if sent not in ready]
        return any(any(map(_has_gradient, sent)) for sent in ready)


def _has_gradient(leaf: TensorWeakRef) -> bool:
    tensor = leaf()
    return tensor is not None and tensor.grad is not None and bool(dense(tensor.grad).any())
