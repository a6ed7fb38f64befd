"""Determinism flags will not help: the logger edits what it reads. clip_grad_norm_ returns the norm AND rescales the gradient
to at most 1.0, parameter by parameter, so the logged run is a clipped run. Measure with something that only reads.
"""
import math


class GradientLog:
    """Norm of each parameter's gradient, of the whole, and the largest entry. Changes nothing."""

    def __init__(self, model, write=print):
        self.model, self.write = model, write

    def __call__(self, step):
        whole = 0.0
        for name, p in self.model.named_parameters():
            if p.grad is None:
                continue
            g = p.grad.detach().view(-1)
            largest = g.abs().max().item()
            square = g.square_().sum().item()
            whole += square
            self.write(f"step {step} grad_norm/{name} {math.sqrt(square):.4f} max {largest:.4f}")
        self.write(f"step {step} grad_norm {math.sqrt(whole):.4f}")


log = GradientLog(model)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    log(step)
    optimizer.step()
