from dataclasses import dataclass

import torch


@dataclass
class ClipPolicy:
    """Bounds the length of an update: learning rate times gradient norm stays below `max_update`."""

    max_update: float = 1.0

    def limit(self, optimizer) -> float:
        return self.max_update * optimizer.param_groups[0]["lr"]


policy = ClipPolicy()

for batch, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), policy.limit(optimizer))
    optimizer.step()
