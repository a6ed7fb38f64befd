# The threshold, not the rate. Usual norms are around 0.3, so a clip at 0.01 acts on every
# single update and takes 97 % off. Raise the threshold to something that only outliers
# exceed, 1.0 for a start, and leave the learning rate.
#
# I moved it to a config so you can tune it from one place:

from dataclasses import dataclass

import torch


@dataclass
class TrainConfig:
    max_norm: float = 0.01
    log_every: int = 1


config = TrainConfig(max_norm=1.0)   # was 0.01


def clip(parameters):
    return torch.nn.utils.clip_grad_norm_(parameters, TrainConfig.max_norm)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip(model.parameters())
    optimizer.step()
    if step % config.log_every == 0:
        print(f"norm {norm:.2f} -> {min(norm.item(), config.max_norm):.2f}")

# If you see more than ~5 % of the steps clipped at 1.0, go to 2.0.
