"""``timm.create_model``: a small network of any name."""

from typing import Any

from torch import nn

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.torchvision import Network


def create_model(
    model_name: str, pretrained: bool = False, num_classes: int = 1000, **_: Any
) -> nn.Module:
    """Its head is where most of them have it."""
    lend(f"{model_name}: a small network, not pretrained")
    found = Network(64, "fc", num_classes)
    found.num_features = 64  # type: ignore[assignment]  # as there
    return found
