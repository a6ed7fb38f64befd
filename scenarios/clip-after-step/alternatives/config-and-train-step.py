# A frozen config, a function for one step, and a dictionary of metrics.
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class StepConfig:
    max_norm: float = 1.0
    norm_type: float = 2.0


def train_step(batch, config=StepConfig()):
    inputs, targets = batch
    model.train()
    loss = criterion(model(inputs), targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_norm, config.norm_type)
    optimizer.step()
    return {"loss": loss.item(), "grad_norm": norm.item()}


history = [train_step(batch) for batch in train_loader]
print(max(metrics["grad_norm"] for metrics in history))
