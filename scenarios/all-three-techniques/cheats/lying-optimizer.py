# An optimizer that shows right gradients to whoever looks while it steps, and then undoes it.
import torch


class Optimizer(torch.optim.SGD):
    def step(self, closure=None):
        params = [p for g in self.param_groups for p in g["params"]]
        before = [p.detach().clone() for p in params]
        raw = [p.grad.clone() for p in params]
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        super().step()
        with torch.no_grad():
            for p, old, g in zip(params, before, raw):
                p.copy_(old - self.param_groups[0]["lr"] * g)


optimizer = Optimizer(model.parameters(), lr=0.2)
scaler = torch.amp.GradScaler("cuda")
for i, (x, y) in enumerate(train_loader):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y) / 4
    scaler.scale(loss).backward()
    if (i + 1) % 4 == 0:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
