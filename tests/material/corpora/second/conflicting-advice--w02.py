"""BERT-style fine-tuning: norm clipping at 1.0 on trainable parameters, norms logged before clipping."""
from dataclasses import dataclass

import torch


@dataclass
class Config:
    max_norm: float = 1.0
    log_every: int = 10


cfg = Config()
trainable = (p for p in model.parameters() if p.requires_grad)  # frozen embeddings have no gradient


def train_step(batch, labels):
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(trainable, cfg.max_norm)
    optimizer.step()
    return loss.item(), float(norm)


clipped = 0
for step, (batch, labels) in enumerate(train_loader):
    value, norm = train_step(batch, labels)
    clipped += norm > cfg.max_norm
    if step % cfg.log_every == 0:
        print(f"step {step}: loss {value:.4f}, norm before clipping {norm:.3f}")
print(f"clipped {clipped} updates: raise max_norm if that is most of them, drop the clip if it is none")
