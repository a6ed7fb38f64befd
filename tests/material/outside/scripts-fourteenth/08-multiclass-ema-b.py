import copy
import numpy as np
import torch
from torch import nn, optim


class ModelEMA:
    def __init__(self, model, decay=0.98):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.module.parameters(), model.parameters()):
            ema_p.mul_(self.decay).add_(p.detach(), alpha=1 - self.decay)
        for ema_b, b in zip(self.module.buffers(), model.buffers()):
            ema_b.copy_(b)


def load(path):
    raw = np.loadtxt(path, dtype=np.float32)
    return torch.from_numpy(raw[:, 1:]), torch.from_numpy(raw[:, 0]).long()


def build():
    return nn.Sequential(
        nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(96, 10),
    )


@torch.no_grad()
def accuracy(net, x, y):
    was = net.training
    net.eval()
    acc = (net(x).argmax(-1) == y).float().mean().item()
    net.train(was)
    return acc


def fit(epochs=8, bs=40, lr=1e-3):
    torch.manual_seed(5)
    x, y = load("data/glyphs.txt")
    xtr, ytr, xte, yte = x[:640], y[:640], x[640:], y[640:]
    net = build()
    ema = ModelEMA(net)
    opt = optim.AdamW(net.parameters(), lr=lr, weight_decay=0.01)
    total = epochs * (len(xtr) // bs)
    sch = optim.lr_scheduler.OneCycleLR(opt, max_lr=5 * lr, total_steps=total)
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)
    for ep in range(epochs):
        net.train()
        for idx in torch.randperm(len(xtr)).split(bs):
            loss = crit(net(xtr[idx]), ytr[idx])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sch.step()
            ema.update(net)
        print(ep, f"loss {loss.item():.3f}", f"raw {accuracy(net, xte, yte):.3f}", f"ema {accuracy(ema.module, xte, yte):.3f}")
    return ema.module


final = fit()
