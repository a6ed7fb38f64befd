import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.lambd, None


def grad_reverse(x, lambd=1.0):
    return GradReverse.apply(x, lambd)


class DANN(nn.Module):
    """Ganin & Lempitsky (2015): features that serve the label but do not betray the domain."""

    def __init__(self, classes, width=32):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, width, 5, padding=2), nn.GroupNorm(8, width), nn.ReLU(),
                                      nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 5, padding=2),
                                      nn.GroupNorm(8, 2 * width), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        dim = 2 * width * 7 * 7
        self.label = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, classes))
        self.domain = nn.Sequential(nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, x, lambd):
        f = self.features(x)
        return self.label(f), self.domain(grad_reverse(f, lambd)).squeeze(1)


def shapes(n, classes, shifted, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    proto = F.interpolate(torch.rand(classes, 1, 7, 7, generator=torch.Generator().manual_seed(0)), 28)
    x = (proto[y] > 0.5).float().repeat(1, 3, 1, 1)
    if shifted:
        bg = F.interpolate(torch.rand(n, 3, 4, 4, generator=g), 28, mode="bilinear")
        x = (x - bg).abs()
    return TensorDataset(x + 0.1 * torch.randn(x.shape, generator=g), y)


def forever(loader):
    while True:
        yield from loader


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    ok = sum((model(x.to(device), 0.0)[0].argmax(1).cpu() == y).sum().item() for x, y in loader)
    return ok / len(loader.dataset)


def run(epochs, samples, batch_size, classes, lr, gamma, seed):
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mk = lambda shifted, s, n: shapes(n, classes, shifted, s)
    source = DataLoader(mk(False, 1, samples), batch_size, shuffle=True, drop_last=True)
    target = forever(DataLoader(mk(True, 2, samples), batch_size, shuffle=True, drop_last=True))
    test_s, test_t = DataLoader(mk(False, 3, 500), 250), DataLoader(mk(True, 4, 500), 250)
    model = DANN(classes).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    total = epochs * len(source)
    step = 0
    for epoch in range(epochs):
        model.train()
        sums = torch.zeros(3)
        for xs, ys in source:
            xt, _ = next(target)
            progress = step / total
            lambd = 2.0 / (1.0 + math.exp(-gamma * progress)) - 1.0
            for group in opt.param_groups:
                group["lr"] = lr / (1 + 10 * progress) ** 0.75
            x = torch.cat([xs, xt]).to(device)
            logits, dom = model(x, lambd)
            is_target = torch.cat([torch.zeros(len(xs)), torch.ones(len(xt))]).to(device)
            label_loss = F.cross_entropy(logits[:len(xs)], ys.to(device))
            domain_loss = F.binary_cross_entropy_with_logits(dom, is_target)
            opt.zero_grad()
            (label_loss + domain_loss).backward()
            opt.step()
            sums += torch.tensor([label_loss.item(), domain_loss.item(),
                                  ((dom > 0).float() == is_target).float().mean().item()])
            step += 1
        lab, dl, da = (sums / len(source)).tolist()
        print(f"epoch {epoch:2d} lambda {lambd:.2f} label {lab:.3f} domain {dl:.3f} (acc {da:.2f}) "
              f"source {accuracy(model, test_s, device):.3f} target {accuracy(model, test_t, device):.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--samples", type=int, default=4000)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--classes", type=int, default=10)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--gamma", type=float, default=10.0)
    ap.add_argument("--seed", type=int, default=0)
    run(**vars(ap.parse_args()))
