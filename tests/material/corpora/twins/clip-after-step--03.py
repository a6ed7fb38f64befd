

class Clipper:
    def __init__(self, model, max_norm):
        self.model, self.max_norm = model, max_norm
        self.last = torch.tensor(0.0)

    def __call__(self):
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        norms = torch.stack(torch._foreach_norm(grads))
        norm = norms.norm()
        self.last = norms.norm()
        factor = (self.max_norm / (norm + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(grads, factor)
        return self.last


clip = Clipper(model, 1.0)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip()
    optimizer.step()
    print(f"{step} loss {loss.item():.4f} norm {norm.item():.3f}")
