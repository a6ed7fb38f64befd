import torch


class GradNormMonitor:
    """Keeps a bias-corrected moving mean of each parameter's gradient norm."""

    def __init__(self, model, beta=0.9):
        self.model, self.beta = model, beta
        self.mean = {}
        self.steps = 0

    @torch.no_grad()
    def update(self):
        self.steps += 1
        for name, p in self.model.named_parameters():
            norm = p.grad.detach().norm().item()
            self.mean[name] = self.beta * self.mean.get(name, 0.0) + (1 - self.beta) * norm
        return {name: value / (1 - self.beta**self.steps) for name, value in self.mean.items()}


monitor = GradNormMonitor(model)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, norm in monitor.update().items():
        print(f"step {step} grad_norm/{name} {norm:.4f}")
    optimizer.step()
