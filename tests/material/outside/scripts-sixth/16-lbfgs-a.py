"""Fit a physics-informed network to u'' + u = 0, u(0)=0, u'(0)=1 with full-batch L-BFGS."""
import argparse
import math

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        dims = [1] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.out = nn.Linear(width, 1)
        for layer in [*self.hidden, self.out]:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, t):
        h = t
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.out(h)


def derivative(y, t):
    return torch.autograd.grad(y.sum(), t, create_graph=True)[0]


def losses(model, t_in, t0):
    u = model(t_in)
    du = derivative(u, t_in)
    d2u = derivative(du, t_in)
    residual = (d2u + u).pow(2).mean()
    u0 = model(t0)
    du0 = derivative(u0, t0)
    initial = u0.pow(2).mean() + (du0 - 1).pow(2).mean()
    return residual, initial


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--points", type=int, default=128)
    p.add_argument("--t-max", type=float, default=2 * math.pi)
    p.add_argument("--outer", type=int, default=40, help="calls of optimizer.step")
    p.add_argument("--inner", type=int, default=20, help="L-BFGS iterations per call")
    p.add_argument("--weight-initial", type=float, default=10.0)
    p.add_argument("--tol", type=float, default=1e-7)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    torch.set_default_dtype(torch.float64)
    model = PINN()
    t_in = torch.linspace(0, args.t_max, args.points)[:, None].requires_grad_(True)
    t0 = torch.zeros(1, 1, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=1.0, max_iter=args.inner, history_size=50, line_search_fn="strong_wolfe"
    )
    trace = {}

    def closure():
        optimizer.zero_grad()
        residual, initial = losses(model, t_in, t0)
        loss = residual + args.weight_initial * initial
        loss.backward()
        trace["residual"], trace["initial"] = residual.item(), initial.item()
        return loss

    previous = float("inf")
    for outer in range(args.outer):
        loss = optimizer.step(closure).item()
        print(f"{outer:3d} loss {loss:.3e} residual {trace['residual']:.3e} initial {trace['initial']:.3e}")
        if abs(previous - loss) < args.tol * max(1.0, abs(loss)):
            break
        previous = loss

    with torch.no_grad():
        t = torch.linspace(0, args.t_max, 200)[:, None]
        error = (model(t) - torch.sin(t)).abs().max().item()
    print(f"max error against sin(t): {error:.2e}")
    torch.save(model.state_dict(), "pinn.pt")


if __name__ == "__main__":
    main()
