"""Self-supervised anomaly detection on sensor streams: predict the next value, score by the error."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LEVELS, CH, K = 4, 16, 3
SEQ, BATCH, EPOCHS = 96, 32, 6


def stream(n, seed, anomalies=False):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    x = np.sin(t / 5) + 0.6 * np.sign(np.sin(t / 23)) + 0.1 * rng.standard_normal(n)
    y = np.zeros(n, dtype=bool)
    if anomalies:
        for s in rng.integers(50, n - 20, 12):
            x[s:s + 4] += rng.choice([-1.5, 1.5])
            y[s:s + 4] = True
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(y)


class CausalConv(nn.Conv1d):
    def forward(self, x):
        return super().forward(F.pad(x, ((self.kernel_size[0] - 1) * self.dilation[0], 0)))


class Block(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.a = CausalConv(cin, cout, K, dilation=dilation)
        self.b = CausalConv(cout, cout, K, dilation=dilation)
        self.res = nn.Conv1d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        h = F.relu(self.a(x.data))
        h = F.relu(self.b(h))
        return F.relu(h + self.res(x.data))


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        dims = [1] + [CH] * LEVELS
        self.blocks = nn.Sequential(*[Block(i, o, 2 ** k) for k, (i, o) in enumerate(zip(dims[:-1], dims[1:]))])
        self.out = nn.Conv1d(CH, 1, 1)

    def forward(self, x):
        return self.out(self.blocks(x.unsqueeze(1))).squeeze(1)


def windows(x):
    w = x.unfold(0, SEQ + 1, 8)
    return w[:, :-1], w[:, 1:]


def auc(score, label):
    order = score.argsort()
    rank = torch.empty(len(score))
    rank[order] = torch.arange(1, len(score) + 1).float()
    pos, neg = label.sum().item(), (~label).sum().item()
    return ((rank[label].sum() - pos * (pos + 1) / 2) / (pos * neg)).item()


def main():
    torch.manual_seed(0)
    x, y = windows(stream(6000, 0)[0])
    xv, yv = windows(stream(1500, 1)[0])
    net = TCN()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    for epoch in range(EPOCHS):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(BATCH):
            opt.zero_grad()
            loss = F.mse_loss(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            val = F.mse_loss(net(xv), yv).item()
        sched.step(val)
        print(f"epoch {epoch}: train {total / len(x):.4f} val {val:.4f} lr {opt.param_groups[0]['lr']:.1e}")
    s, label = stream(3000, 2, anomalies=True)
    with torch.no_grad():
        err = (net(s[None, :-1])[0] - s[1:]).abs()
    print(f"anomaly AUC {auc(err, label[1:]):.3f}")


if __name__ == "__main__":
    main()
