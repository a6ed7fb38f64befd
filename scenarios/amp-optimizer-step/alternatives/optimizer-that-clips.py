# An optimizer that clips in its own step; the scaler calls it only with true, finite gradients.
import torch


class ClippedSGD(torch.optim.SGD):
    def __init__(self, params, lr, max_norm):
        super().__init__(params, lr=lr)
        self.max_norm = max_norm

    def step(self, closure=None):
        params = [p for group in self.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, self.max_norm)
        return super().step(closure)


optimizer = ClippedSGD(model.parameters(), lr=0.1, max_norm=1.0)
scaler = torch.amp.GradScaler("cuda")
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
