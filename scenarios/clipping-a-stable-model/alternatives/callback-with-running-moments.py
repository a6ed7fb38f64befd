# A callback keeps mean and variance of the norm (Welford); the loop calls it and clips nothing.
import math


class NormMonitor:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def on_after_backward(self, module):
        norm = math.hypot(*(p.grad.norm().item() for p in module.parameters() if p.grad is not None))
        self.n += 1
        delta = norm - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (norm - self.mean)

    def on_train_end(self):
        print(f"gradient norm {self.mean:.2f} +- {math.sqrt(self.m2 / self.n):.2f} over {self.n} updates")


callbacks = [NormMonitor()]
for images, labels in train_loader:
    optimizer.zero_grad(set_to_none=True)
    criterion(model(images), labels).backward()
    for callback in callbacks:
        callback.on_after_backward(model)
    optimizer.step()
for callback in callbacks:
    callback.on_train_end()
