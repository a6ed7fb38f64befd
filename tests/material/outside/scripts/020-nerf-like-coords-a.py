"""Fit an image with a coordinate MLP (Fourier features). Some pixels of the sensor are dead."""
import math
import time

import torch
import torch.nn as nn

SIZE = 48
ITERS = 300
BATCH = 512
BASE_LR = 2e-3
FINAL_LR = 1e-4


def target_image(size):
    g = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(g, g, indexing="ij")
    img = torch.stack([torch.sin(6 * x * y), torch.cos(4 * x) * y, torch.exp(-3 * (x ** 2 + y ** 2))], -1)
    img = (img - img.min()) / (img.max() - img.min())
    img[5, 7] = float("nan")  # dead pixels
    img[30, 11] = float("inf")
    return torch.stack([x, y], -1).reshape(-1, 2), img.reshape(-1, 3)


class FourierMLP(nn.Module):
    def __init__(self, n_freq=32, hidden=64, scale=4.0):
        super().__init__()
        self.register_buffer("freqs", torch.randn(2, n_freq) * scale)
        self.net = nn.Sequential(nn.Linear(2 * n_freq, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 3), nn.Sigmoid())

    def forward(self, xy):
        a = 2 * math.pi * xy @ self.freqs
        return self.net(torch.cat([a.sin(), a.cos()], -1))


class ExponentialDecay:
    def __init__(self, optimizer, start, end, steps):
        self.optimizer, self.start, self.end, self.steps = optimizer, start, end, steps
        self.t = 0
        self._apply()

    def _apply(self):
        lr = self.start * (self.end / self.start) ** min(1.0, self.t / self.steps)
        for g in self.optimizer.param_groups:
            g["lr"] = lr

    def step(self):
        self.t += 1
        self._apply()


def psnr(mse):
    return -10 * math.log10(max(mse, 1e-10))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    coords, colors = (t.to(device) for t in target_image(SIZE))
    model = FourierMLP().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=BASE_LR)
    schedule = ExponentialDecay(optimizer, BASE_LR, FINAL_LR, ITERS)
    skipped = 0
    start = time.perf_counter()
    for it in range(1, ITERS + 1):
        idx = torch.randint(len(coords), (BATCH,), device=device)
        loss = (model(coords[idx]) - colors[idx]).pow(2).mean()
        if not torch.isfinite(loss):
            skipped += 1
            continue
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        if it % 50 == 0:
            ms = 1000 * (time.perf_counter() - start) / it
            lr = optimizer.param_groups[0]["lr"]
            print(f"[{it:4d}/{ITERS}] loss {loss.item():.5f} lr {lr:.1e} {ms:.1f} ms/it bad batches {skipped}")
    with torch.no_grad():
        ok = torch.isfinite(colors).all(1)
        mse = (model(coords[ok]) - colors[ok]).pow(2).mean().item()
    print(f"PSNR {psnr(mse):.2f} dB")


if __name__ == "__main__":
    main()
