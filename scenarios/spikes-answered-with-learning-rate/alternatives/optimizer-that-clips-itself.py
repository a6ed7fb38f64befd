# A subclass of the optimizer clips all its groups together, first thing in its step.
import torch


class ClippedSGD(torch.optim.SGD):
    def __init__(self, params, max_norm=1.0, **options):
        super().__init__(params, **options)
        self.max_norm, self.last_norm = max_norm, None

    def step(self, closure=None):
        self.last_norm = torch.nn.utils.clip_grad_norm_(
            [p for group in self.param_groups for p in group["params"]], self.max_norm
        )
        return super().step(closure)


sgd = ClippedSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"], max_norm=1.0)
for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    sgd.step()
    sgd.zero_grad()
    if sgd.last_norm > 10 * sgd.max_norm:
        print(f"step {step}: loss {loss.item():.4f}, spike of norm {sgd.last_norm:.1f}")
