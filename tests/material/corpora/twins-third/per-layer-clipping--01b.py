from collections import defaultdict
from dataclasses import dataclass

import torch


@dataclass
class LayerClipper:
    max_norm: float = 1.0

    def layers(self, model):
        grouped = defaultdict(list)
        for name, p in model.named_parameters():
            layer, _, _ = name.rpartition(".")
            grouped[layer].append(p)
        return grouped

    def __call__(self, model):
        return {
            layer: torch.nn.utils.clip_grad_norm_(params, self.max_norm, norm_type=float("inf")).item()
            for layer, params in self.layers(model).items()
        }


clipper = LayerClipper()
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norms = clipper(model)
        optimizer.step()
