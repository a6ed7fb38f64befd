"""Sharpness-aware minimisation on a toy image task (which quadrant holds the blob?)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def blobs(n, size=16):
    labels = torch.randint(0, 4, (n,))
    imgs = 0.6 * torch.randn(n, 1, size, size)
    half = size // 2
    for i, lab in enumerate(labels.tolist()):
        r = (lab // 2) * half + torch.randint(0, half - 3, (1,)).item()
        c = (lab % 2) * half + torch.randint(0, half - 3, (1,)).item()
        imgs[i, 0, r:r + 3, c:c + 3] += 1.2
    return imgs, labels


class SAM:
    def __init__(self, params, base_cls, rho=0.05, **kwargs):
        self.params = [p for p in params if p.requires_grad]
        self.base = base_cls(self.params, **kwargs)
        self.rho = rho
        self.eps = []

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        self.eps = []
        for p in self.params:
            e = p.grad * (self.rho / (norm + 1e-12))
            p.add_(e)
            self.eps.append(e)

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.eps):
            p.sub_(e)
        self.base.step()


class Trainer:
    def __init__(self, model, epochs=6, batch_size=64, lr=0.05, rho=0.05):
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.opt = SAM(model.parameters(), torch.optim.SGD, rho=rho, lr=lr, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt.base, epochs)

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.ascend()

        F.cross_entropy(self.model(x), y).backward()
        self.opt.descend()
        return loss.item()

    def fit(self, train, val):
        x, y = train
        for epoch in range(self.epochs):
            self.model.train()
            total, n = 0.0, 0
            for idx in torch.randperm(len(x)).split(self.batch_size):
                total += self.step(x[idx], y[idx])
                n += 1
            self.sched.step()
            print(f"epoch {epoch}: loss {total / n:.4f}, val acc {self.evaluate(*val):.3f}")

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 4 * 4, 4),
    )


if __name__ == "__main__":
    torch.manual_seed(4)
    torch.set_num_threads(1)
    Trainer(build_model()).fit(blobs(1500), blobs(400))
