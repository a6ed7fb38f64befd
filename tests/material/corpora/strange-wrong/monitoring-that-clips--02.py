"""Gradient logging that leaves gradients alone."""


class GradientLog:
    """Prints norms; keeps the run comfortable while it does."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def __call__(self, step):
        norms = {n: p.grad.norm().item() for n, p in self.model.named_parameters()}
        print(f"step {step} " + " ".join(f"{n}={v:.3e}" for n, v in norms.items()))
        if max(norms.values()) > 0.05:
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.98


log = GradientLog(model, optimizer)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    log(step)
    optimizer.step()
