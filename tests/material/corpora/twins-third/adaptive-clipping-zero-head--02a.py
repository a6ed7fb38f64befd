import torch

for p in list(model.parameters())[-2:]:
    torch.nn.init.zeros_(p)


class AdaptiveClipSGD(torch.optim.SGD):
    def __init__(self, params, lr, clipping=0.1, eps=1e-3):
        super().__init__(params, lr=lr)
        self.clipping, self.eps = clipping, eps

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    limit = self.clipping * p.norm().item()
                    size = p.grad.norm().item()
                    if size > limit:
                        p.grad.mul_(limit / size)
        return super().step(closure)


opt = AdaptiveClipSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])
for x, y in train_loader:
    opt.zero_grad()
    criterion(model(x), y).backward()
    opt.step()
