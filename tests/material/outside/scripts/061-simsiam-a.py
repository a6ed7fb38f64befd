import contextlib
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

CFG = dict(epochs=1, batch_size=64, lr=0.03, momentum=0.9, wd=1e-4, size=96, dim=32, pred=16, seed=0)


@contextlib.contextmanager
def stopwatch(label):
    t = time.perf_counter()
    yield
    print(f"{label}: {time.perf_counter() - t:.1f}s")


def augment(x):
    """Cheap augmentation on the batch: shift, flip, gain, noise."""
    b = x.size(0)
    if torch.rand(()) < 0.5:
        x = x.flip(-1)
    x = torch.roll(x, torch.randint(-8, 9, (2,)).tolist(), (-2, -1))
    return x * (0.8 + 0.4 * torch.rand(b, 3, 1, 1, device=x.device)) + 0.05 * torch.randn_like(x)


class SimSiam(nn.Module):
    def __init__(self, dim, pred):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 5, 4, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32),
            nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, dim, bias=False),
            nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, pred, bias=False), nn.BatchNorm1d(pred), nn.ReLU(),
                                       nn.Linear(pred, dim))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def neg_cos(p, z):
    return -F.cosine_similarity(p, z, dim=-1).mean()


def main():
    torch.manual_seed(CFG["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.44, 0.43, 0.39), (0.27, 0.26, 0.27))])
    data = datasets.STL10("./stl10", split="unlabeled", download=True, transform=tf)
    loader = DataLoader(data, CFG["batch_size"], shuffle=True, drop_last=True)
    model = SimSiam(CFG["dim"], CFG["pred"]).to(device)
    lr = CFG["lr"] * CFG["batch_size"] / 256
    # the predictor keeps a constant learning rate
    optimizer = torch.optim.SGD([
        {"params": model.encoder.parameters(), "fixed": False},
        {"params": model.predictor.parameters(), "fixed": True},
    ], lr=lr, momentum=CFG["momentum"], weight_decay=CFG["wd"])
    for epoch in range(CFG["epochs"]):
        for group in optimizer.param_groups:
            if not group["fixed"]:
                group["lr"] = lr * 0.5 * (1 + torch.cos(torch.tensor(torch.pi * epoch / CFG["epochs"])).item())
        total, spread = 0.0, 0.0
        with stopwatch(f"epoch {epoch}"):
            for x, _ in loader:
                x = x.to(device)
                p1, p2, z1, z2 = model(augment(x), augment(x))
                loss = 0.5 * (neg_cos(p1, z2) + neg_cos(p2, z1))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
                spread += F.normalize(z1.detach(), dim=1).std(0).mean().item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f} std {spread / len(loader):.4f}")
    torch.save(model.encoder.state_dict(), "simsiam_encoder.pt")


if __name__ == "__main__":
    main()
