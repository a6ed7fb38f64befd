import torch


class ClippedSGD(torch.optim.SGD):
    """SGD that clips the global norm over all its groups before it steps."""

    def __init__(self, params, lr, max_norm, **kwargs):
        super().__init__(params, lr=lr, **kwargs)
        self.max_norm = max_norm
        self.norms = []

    def step(self, closure=None):
        params = [p for group in self.param_groups for p in group["params"]]
        self.norms.append(torch.nn.utils.clip_grad_norm_(params, self.max_norm).item())
        return super().step(closure)


opt = ClippedSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"], max_norm=1.0)

for x, y in train_loader:
    opt.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()

print(f"median norm {sorted(opt.norms)[len(opt.norms) // 2]:.2f}")
