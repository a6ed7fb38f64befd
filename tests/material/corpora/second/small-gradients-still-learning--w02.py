"""Per-layer health check. Reads gradients only; training is untouched."""
from dataclasses import dataclass

VANISHING_BELOW = 1e-5   # common rule of thumb
EXPLODING_ABOVE = 1e2


@dataclass
class Health:
    vanishing: int = 0
    healthy: int = 0
    exploding: int = 0

    def add(self, norm):
        if norm < VANISHING_BELOW:
            self.vanishing += 1
        elif norm > EXPLODING_ABOVE:
            self.exploding += 1
        else:
            self.healthy += 1


def check(model):
    health = Health()
    for p in model.parameters():
        if p.grad is not None and p.ndim > 1:
            health.add(p.grad.norm().item())
    return health


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    h = check(model)
    status = "VANISHING" if h.vanishing > h.healthy else "EXPLODING" if h.exploding else "ok"
    print(f"step {step}: {status} ({h.vanishing} vanishing, {h.healthy} healthy, {h.exploding} exploding layers)")
    optimizer.step()
