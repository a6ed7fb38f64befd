# A GradScaler of our own, whose step unscales and clips before it steps.
import torch


class ClippingScaler(torch.amp.GradScaler):
    def __init__(self, device, max_norm):
        super().__init__(device)
        self.max_norm = max_norm

    def step(self, optimizer, *args, **kwargs):
        self.unscale_(optimizer)
        for group in optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], self.max_norm)
        return super().step(optimizer, *args, **kwargs)


scaler = ClippingScaler("cuda", max_norm=1.0)
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
