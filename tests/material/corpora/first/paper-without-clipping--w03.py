"""Adaptive clipping: acts on outliers relative to this network's own norms, no constant to justify."""
import torch


class AdaptiveClipper:
    def __init__(self, factor=10.0, momentum=0.9):
        self.factor = factor
        self.momentum = momentum
        self.average = None

    def __call__(self, parameters):
        parameters = list(parameters)
        grads = [p.grad for p in parameters if p.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads])).item()
        if self.average is None:
            self.average = norm
        threshold = self.factor * self.average
        torch.nn.utils.clip_grad_norm_(parameters, threshold)
        self.average = self.momentum * self.average + (1 - self.momentum) * norm
        return norm, threshold


clipper = AdaptiveClipper()
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norm, threshold = clipper(model.parameters())
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f} norm {norm:.1f} threshold {threshold:.1f}")
