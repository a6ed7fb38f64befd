"""Is a gradient of 1e-7 a problem?  Only if the early layers get much less than the late ones."""
from collections import defaultdict


class GradientHealth:
    def __init__(self, model, threshold=1e-3):
        self.weights = [(n, p) for n, p in model.named_parameters() if p.ndim > 1]
        self.threshold = threshold
        self.history = defaultdict(list)

    def record(self):
        for name, p in self.weights:
            if p.grad is not None:
                self.history[name].append(float(p.grad.detach().norm()))

    def report(self):
        averages = {n: sum(v) / len(v) for n, v in self.history.items()}
        for name, value in averages.items():
            print(f"{name:24s} {value:.3e}")
        values = list(averages.values())
        ratio = values[0] / values[-1] if values[-1] > 0 else 0.0
        print(f"first / last = {ratio:.3e}")
        if ratio < self.threshold:
            print("VANISHING: early layers receive (almost) nothing")
        else:
            print("OK: layers are alike, the small size is a matter of units")


health = GradientHealth(model)
losses = []
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    health.record()
    optimizer.step()
    losses.append(loss.item())

health.report()
print(f"loss {losses[0]:.4e} -> {losses[-1]:.4e}")
