# A class wraps the optimizer: its step bounds first, over the optimizer's own groups.
import torch


class AdaptivelyClipped:
    def __init__(self, base, factor=0.05, floor=1e-3):
        self.base, self.factor, self.floor = base, factor, floor

    def zero_grad(self):
        self.base.zero_grad(set_to_none=True)

    def step(self):
        for group in self.base.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                allowed = self.factor * torch.maximum(p.detach().norm(), torch.tensor(self.floor))
                p.grad = torch.where(p.grad.norm() > allowed, p.grad / p.grad.norm() * allowed, p.grad)
        self.base.step()


with torch.no_grad():
    for p in list(model.parameters())[-2:]:
        p.zero_()

opt = AdaptivelyClipped(optimizer)
for batch in train_loader:
    opt.zero_grad()
    criterion(model(batch[0]), batch[1]).backward()
    opt.step()
