"""The rate is not what is small. With ordinary norms of 0.3 a threshold of 0.01 clips every update to the
same length; 100x the rate would be normalised gradient descent. Raise the threshold above the ordinary."""
from collections import deque
from dataclasses import dataclass

import torch


@dataclass
class ClipConfig:
    max_norm: float = 1.0  # about three times what your log shows; revise by the share printed below
    history: int = 500


config = ClipConfig()
recent = deque(maxlen=config.history)


def train_one(x, y):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    recent.append(torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_norm).item())
    optimizer.step()
    return loss.item()


for step, (x, y) in enumerate(train_loader):
    value = train_one(x, y)
    share = sum(n > config.max_norm for n in recent) / len(recent)
    print(f"step {step} loss {value:.4f} norm {recent[-1]:.2f} clipped so far {share:.0%}")
