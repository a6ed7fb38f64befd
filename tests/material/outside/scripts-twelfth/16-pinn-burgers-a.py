import argparse
import math

import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)


class PINN(nn.Module):
    def __init__(self, width=24, depth=4):
        super().__init__()
        dims = [2] + [width] * depth + [1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))
        for layer in self.layers:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x, t):
        h = torch.cat([x, t], 1)
        for layer in self.layers[:-1]:
            h = torch.tanh(layer(h))
        return self.layers[-1](h)


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(net, x, t, nu):
    u = net(x, t)
    u_x, u_t = d(u, x), d(u, t)
    return u_t + u * u_x - nu * d(u_x, x)


def sample_points(n_col, n_bnd):
    x = (torch.rand(n_col, 1) * 2 - 1).requires_grad_()
    t = torch.rand(n_col, 1).requires_grad_()
    xi = torch.rand(n_bnd, 1) * 2 - 1
    ti = torch.zeros(n_bnd, 1)
    ui = -torch.sin(math.pi * xi)
    xb = torch.where(torch.rand(n_bnd, 1) < 0.5, -1.0, 1.0).to(xi.dtype)
    tb = torch.rand(n_bnd, 1)
    return x, t, torch.cat([xi, xb]), torch.cat([ti, tb]), torch.cat([ui, torch.zeros_like(xb)])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--adam", type=int, default=2000)
    ap.add_argument("--lbfgs", type=int, default=50)
    ap.add_argument("--collocation", type=int, default=2000)
    ap.add_argument("--boundary", type=int, default=200)
    ap.add_argument("--nu", type=float, default=0.01 / math.pi)
    ap.add_argument("--bc-weight", type=float, default=10.0)
    args = ap.parse_args()

    torch.manual_seed(0)
    net = PINN()

    def total_loss(points):
        x, t, xd, td, ud = points
        pde = residual(net, x, t, args.nu).pow(2).mean()
        data = (net(xd, td) - ud).pow(2).mean()
        return pde + args.bc_weight * data

    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    decay = torch.optim.lr_scheduler.ExponentialLR(adam, gamma=0.9995)
    for it in range(args.adam):
        adam.zero_grad()
        loss = total_loss(sample_points(args.collocation, args.boundary))
        loss.backward()
        adam.step()
        decay.step()
        if it % 200 == 0:
            print(f"adam {it} loss {loss.item():.5f}")
    adam.zero_grad()

    lbfgs = torch.optim.LBFGS(
        net.parameters(), max_iter=20, history_size=50, line_search_fn="strong_wolfe"
    )
    points = sample_points(args.collocation * 2, args.boundary * 2)

    def closure():
        loss = total_loss(points)
        loss.backward()
        return loss

    for it in range(args.lbfgs):
        loss = lbfgs.step(closure)
        if it % 5 == 0:
            print(f"lbfgs {it} loss {loss.item():.6f}")
    torch.save(net.state_dict(), "burgers.pt")


if __name__ == "__main__":
    main()
