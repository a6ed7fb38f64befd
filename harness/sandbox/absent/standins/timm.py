"""``timm.create_model``: a small network of any name."""

import re
from typing import Any

from torch import nn

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.torchvision import Network

WIDTH = 64

HEADS = (
    (r"(tf_)?efficientnet|(tf_)?mobilenet|densenet|mnasnet|ghostnet|hrnet|lcnet", "classifier"),
    (r"convnext|swin|regnet|(eca_)?nfnet|maxvit|coatnet|rexnet|tiny_vit", "head.fc"),
    (r"vit|deit|beit|eva|mixer|cait|xcit|flexivit", "head"),
)
"""Where the last layer of a family is found; of others it is ``fc``."""


class Created(Network):
    """With what timm's networks have beside their layers."""

    def __init__(self, head: str, num_classes: int, in_chans: int) -> None:
        super().__init__(WIDTH, head, num_classes or 1)
        self.num_features, self.num_classes = WIDTH, num_classes
        if in_chans != 3:
            self.conv1 = nn.Conv2d(in_chans, 64, 3, 2, 1, bias=False)
        self._place = head
        if not num_classes:
            self.reset_classifier(0)

    def get_classifier(self) -> nn.Module:
        """The last layer."""
        return self.get_submodule(self._place)

    def reset_classifier(self, num_classes: int, *_: Any, **__: Any) -> None:
        """Another last layer; none for no classes."""
        last = nn.Linear(WIDTH, num_classes) if num_classes else nn.Identity()
        self.num_classes = num_classes
        self.set_submodule(self._place, last)


def create_model(
    model_name: str, pretrained: bool = False, num_classes: int = 1000, **more: Any
) -> nn.Module:
    """Its head is where its family has it."""
    lend(f"{model_name}: a small network, not pretrained")
    head = next((place for family, place in HEADS if re.match(family, model_name)), "fc")
    return Created(head, num_classes, more.get("in_chans", 3))
