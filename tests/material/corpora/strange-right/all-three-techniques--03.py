"""fp16 + accumulation + clipping without GradScaler: the scaler's protocol written out."""
import torch

ACCUM, MAX_NORM = 4, 1.0


class DynamicLossScale:
    def __init__(self, init=2.0**16, growth=2.0, backoff=0.5, interval=2000):
        self.value, self.growth, self.backoff, self.interval = init, growth, backoff, interval
        self.good = 0

    def update(self, overflow: bool) -> None:
        if overflow:
            self.value *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good % self.interval == 0:
                self.value *= self.growth

    def state_dict(self):
        return {"value": self.value, "good": self.good}


ls = DynamicLossScale()
params = [p for p in model.parameters() if p.requires_grad]
total = len(train_loader)

optimizer.zero_grad(set_to_none=True)
for i, (inputs, targets) in enumerate(train_loader):
    start = i - i % ACCUM
    size = min(ACCUM, total - start)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets) / size
    (loss.float() * ls.value).backward()

    if i + 1 < start + size:
        continue

    grads = [p.grad for p in params if p.grad is not None]
    torch._foreach_mul_(grads, 1.0 / ls.value)
    overflow = not all(torch.isfinite(g).all() for g in grads)
    if not overflow:
        torch.nn.utils.clip_grad_norm_(params, MAX_NORM)
        optimizer.step()
    ls.update(overflow)
    optimizer.zero_grad(set_to_none=True)
