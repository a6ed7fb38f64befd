# Sharpness-aware minimisation (Foret et al., 2021) with plain SGD underneath.
# Spiral classification with label noise.
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
EPOCHS = 25
BATCH = 50
LR = 0.1
RHO = 0.1
WARMUP = 20

torch.manual_seed(SEED)
device = "cuda" if torch.cuda.is_available() else "cpu"


def spirals(n_per_class, classes=3, label_noise=0.0):
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.1, 1.0, n_per_class)
        t = 3.5 * r + 2 * math.pi * c / classes + 0.15 * torch.randn(n_per_class)
        xs.append(torch.stack([r * t.cos(), r * t.sin()], 1))
        ys.append(torch.full((n_per_class,), c))
    x, y = torch.cat(xs), torch.cat(ys)
    flip = torch.rand(len(y)) < label_noise
    y[flip] = torch.randint(0, classes, (int(flip.sum()),))
    return x.to(device), y.to(device)


class SAM:
    def __init__(self, params, base_optimizer, rho=0.05):
        self.params = [p for p in params if p.requires_grad]
        self.base = base_optimizer
        self.rho = rho
        self.eps = []

    def grad_norm(self):
        return torch.stack([p.grad.norm() for p in self.params if p.grad is not None]).norm()

    @torch.no_grad()
    def ascend(self):
        scale = self.rho / (self.grad_norm() + 1e-12)
        self.eps = []
        for p in self.params:
            e = p.grad * scale if p.grad is not None else torch.zeros_like(p)
            p.add_(e)
            self.eps.append(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.eps):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


x_train, y_train = spirals(150, label_noise=0.1)
x_test, y_test = spirals(150)

model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
sgd = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=5e-4)
total_steps = EPOCHS * math.ceil(len(x_train) / BATCH)
sched = torch.optim.lr_scheduler.SequentialLR(
    sgd,
    [
        torch.optim.lr_scheduler.LinearLR(sgd, start_factor=0.1, total_iters=WARMUP),
        torch.optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=total_steps - WARMUP),
    ],
    milestones=[WARMUP],
)
sam = SAM(model.parameters(), sgd, rho=RHO)

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(x_train)).split(BATCH):
        xb, yb = x_train[idx], y_train[idx]

        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        sam.ascend()

        F.cross_entropy(model(xb), yb).backward()
        sam.descend()
        sched.step()
        running += loss.item() * len(idx)

    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            logits = model(x_test)
            acc = (logits.argmax(1) == y_test).float().mean().item()
            test_loss = F.cross_entropy(logits, y_test).item()
        print(f"epoch {epoch + 1:3d}  train {running / len(x_train):.4f}  test {test_loss:.4f}  acc {acc:.3f}")
