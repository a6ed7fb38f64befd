# backward runs in a with block; leaving the block clips what it has made, and keeps the norm.
import torch


class Clipped:
    norm = None

    def __init__(self, module, max_norm):
        self.module, self.max_norm = module, max_norm

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed is None:
            params = self.module.parameters()
            self.norm = torch.nn.utils.clip_grad_norm_(params, self.max_norm)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    with Clipped(model, max_norm=1.0) as clipped:
        loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {clipped.norm:.3f}")
