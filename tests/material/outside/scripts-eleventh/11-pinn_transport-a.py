"""Physics-informed network for the transport-decay equation  u_t + v u_x + k u = 0
on x in [0, 1], t in [0, 1], with sensor readings from sensors.csv (columns x,t,u)."""
import argparse
import csv
import math

import torch
import torch.nn as nn


def read_sensors(path):
    rows = []
    with open(path) as f:
        for r in csv.DictReader(f):
            rows.append([float(r["x"]), float(r["t"]), float(r["u"])])
    data = torch.tensor(rows)
    perm = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
    data = data[perm]
    n_val = max(1, len(data) // 5)
    return data[n_val:], data[:n_val]


class FourierMLP(nn.Module):
    def __init__(self, width=96, depth=4, n_freq=6):
        super().__init__()
        self.register_buffer("freq", math.pi * 2.0 ** torch.arange(n_freq).float() / 4)
        dim = 2 + 2 * 2 * n_freq
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(dim, width), nn.Tanh()]
            dim = width
        self.net = nn.Sequential(*layers, nn.Linear(dim, 1))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x, t):
        z = torch.cat([x, t], 1)
        a = (z[..., None] * self.freq).flatten(1)
        return self.net(torch.cat([z, a.sin(), a.cos()], 1))


def initial_profile(x):
    return torch.exp(-((x - 0.25) / 0.08) ** 2)


def residual(model, x, t, velocity, decay):
    x = x.requires_grad_(True)
    t = t.requires_grad_(True)
    u = model(x, t)
    ones = torch.ones_like(u)
    u_x, u_t = torch.autograd.grad(u, (x, t), grad_outputs=ones, retain_graph=True)
    return u_t + velocity * u_x + decay * u


def sample_interior(n, device):
    return torch.rand(n, 1, device=device), torch.rand(n, 1, device=device)


def losses(model, sensors, args, device):
    x, t = sample_interior(args.n_col, device)
    r = residual(model, x, t, args.velocity, args.decay)

    x0 = torch.rand(args.n_bc, 1, device=device)
    ic = model(x0, torch.zeros_like(x0)) - initial_profile(x0)

    tb = torch.rand(args.n_bc, 1, device=device)
    bc = model(torch.zeros_like(tb), tb)

    idx = torch.randint(0, len(sensors), (min(args.n_data, len(sensors)),), device=device)
    s = sensors[idx]
    data = model(s[:, :1], s[:, 1:2]) - s[:, 2:]
    return {
        "pde": r.pow(2).mean(),
        "ic": ic.pow(2).mean(),
        "bc": bc.pow(2).mean(),
        "data": data.pow(2).mean(),
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sensors", default="sensors.csv")
    p.add_argument("--velocity", type=float, default=0.5)
    p.add_argument("--decay", type=float, default=0.3)
    p.add_argument("--n-col", type=int, default=4096)
    p.add_argument("--n-bc", type=int, default=512)
    p.add_argument("--n-data", type=int, default=256)
    p.add_argument("--iters", type=int, default=20000)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--w-pde", type=float, default=1.0)
    p.add_argument("--w-ic", type=float, default=10.0)
    p.add_argument("--w-bc", type=float, default=10.0)
    p.add_argument("--w-data", type=float, default=5.0)
    p.add_argument("--out", default="pinn.pt")
    args = p.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sensors, held_out = (d.to(device) for d in read_sensors(args.sensors))
    model = FourierMLP().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9998)
    weights = {"pde": args.w_pde, "ic": args.w_ic, "bc": args.w_bc, "data": args.w_data}

    best = float("inf")
    for it in range(1, args.iters + 1):
        optimizer.zero_grad()
        parts = losses(model, sensors, args, device)
        loss = sum(weights[k] * v for k, v in parts.items())
        loss.backward()
        optimizer.step()
        scheduler.step()

        if it % 500 == 0:
            with torch.no_grad():
                err = model(held_out[:, :1], held_out[:, 1:2]) - held_out[:, 2:]
                val = err.pow(2).mean().sqrt().item()
            detail = " ".join(f"{k}={v.item():.2e}" for k, v in parts.items())
            print(f"{it:6d} loss={loss.item():.3e} {detail} val_rmse={val:.4f}")
            if val < best:
                best = val
                torch.save({"model": model.state_dict(), "args": vars(args)}, args.out)


if __name__ == "__main__":
    main()
