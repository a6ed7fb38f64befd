"""Leave the training alone; attach a probe that reads each layer's gradient as it is produced."""
import math


class GradientProbe:
    """with GradientProbe(model) as probe: ... probe.report(step) after backward()."""

    def __init__(self, model):
        self.weights = [(n, p) for n, p in model.named_parameters() if p.requires_grad and p.ndim >= 2]
        self.norms, self.handles = {}, []

    def __enter__(self):
        for name, p in self.weights:
            self.handles.append(p.register_post_accumulate_grad_hook(self._reader(name)))
        return self

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()

    def _reader(self, name):
        def hook(param):
            self.norms[name] = param.grad.detach().norm().item()
        return hook

    def report(self, step, loss):
        ordered = [(name, self.norms.get(name, 0.0)) for name, _ in self.weights]
        first, last = ordered[0][1], ordered[-1][1]
        ratio = first / last if last > 0 else math.nan
        line = "  ".join(f"{name}={norm:.2e}" for name, norm in ordered)
        print(f"step {step} loss {loss:.4e} first/last={ratio:.2e} | {line}")
        if ratio < 1e-3:
            print("  early layers get next to nothing: if the loss also stands still, these vanish")
        else:
            print("  layers are comparable: small numbers are the unit of the loss, not a defect")


with GradientProbe(model) as probe:
    for step, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        probe.report(step, loss.item())
        optimizer.step()
