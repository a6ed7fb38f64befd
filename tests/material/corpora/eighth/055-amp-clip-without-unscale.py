import torch


class ClippingScaler(GradScaler):
    """GradScaler whose step() clips the true gradient first."""

    max_norm = 1.0

    def step(self, optimizer, *args, **kwargs):
        self.unscale_(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, self.max_norm)
        return super().step(optimizer, *args, **kwargs)


scaler = ClippingScaler()

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
