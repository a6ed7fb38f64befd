"""Helpers of well-known training scripts, which people use without pasting them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.unbound import Unbound


def dispatch_clip_grad(
    parameters: Any, value: float, mode: str = "norm", norm_type: float = 2.0
) -> None:
    """As in timm: by norm unless told otherwise. Raises ``Unbound`` for what needs timm itself."""
    if mode == "agc":
        raise Unbound("dispatch_clip_grad", "needs timm for adaptive clipping")
    if mode == "value":
        nn.utils.clip_grad_value_(parameters, value)
    else:
        nn.utils.clip_grad_norm_(parameters, value, norm_type=norm_type)


def model_parameters(model: nn.Module, exclude_head: bool = False) -> Iterator[nn.Parameter]:  # noqa: FBT001, FBT002 - timm's signature
    """As in timm: all parameters, or all but weight and bias of the last layer."""
    everything = [*model.parameters()]
    return iter(everything[:-2] if exclude_head else everything)


class CalledScaler:
    """A loss scaler that is called with loss and optimizer, as in timm, DeiT, MAE and Swin."""

    def __init__(self) -> None:
        """It holds a scaler of torch."""
        self._scaler = torch.amp.GradScaler("cpu")

    def __call__(  # noqa: PLR0913, PLR0917 - that of the scripts
        self, loss: Tensor, optimizer: torch.optim.Optimizer, clip_grad: float | None = None,
        clip_mode: str = "norm", parameters: Iterable[nn.Parameter] | None = None,
        create_graph: bool = False,  # noqa: FBT001, FBT002 - as above
        need_update: bool = True,  # noqa: FBT001, FBT002 - as above
        update_grad: bool = True,  # noqa: FBT001, FBT002 - as above
    ) -> None:  # fmt: skip
        """Run backward; then, where an update is wanted, unscale, clip and step."""
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if not (need_update and update_grad):
            return
        self._scaler.unscale_(optimizer)
        if clip_grad is not None and parameters is not None:
            dispatch_clip_grad(parameters, clip_grad, clip_mode)
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """That of torch's scaler."""
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Into torch's scaler."""
        self._scaler.load_state_dict(state)


HELPERS: dict[str, Callable[..., Any]] = {
    "dispatch_clip_grad": dispatch_clip_grad,
    "model_parameters": model_parameters,
}
"""The helpers by name."""
