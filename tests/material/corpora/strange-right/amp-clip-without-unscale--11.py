import torch


class ClippingScaler(torch.amp.GradScaler):
    def __init__(self, max_norm, **kwargs):
        super().__init__("cuda", **kwargs)
        self.max_norm = max_norm

    def step(self, optimizer, *args, **kwargs):
        self.unscale_(optimizer)
        params = [p for g in optimizer.param_groups for p in g["params"]]
        torch.nn.utils.clip_grad_norm_(params, self.max_norm)
        return super().step(optimizer, *args, **kwargs)


scaler = ClippingScaler(max_norm=1.0)
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
