"""Physics-informed network for u'' + u = 0, u(0)=0, u'(0)=1 (solution sin x). Adam, then L-BFGS."""
import argparse
import math

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        layers, last = [], 1
        for _ in range(depth):
            layers += [nn.Linear(last, width), nn.Tanh()]
            last = width
        self.net = nn.Sequential(*layers, nn.Linear(last, 1))

    def forward(self, x):
        return self.net(x)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


class Problem:
    def __init__(self, n, x_max, w_bc):
        self.x = torch.linspace(0, x_max, n).unsqueeze(1).requires_grad_(True)
        self.x0 = torch.zeros(1, 1, requires_grad=True)
        self.w_bc = w_bc

    def loss(self, model):
        u = model(self.x)
        ux = derivative(u, self.x)
        uxx = derivative(ux, self.x)
        residual = (uxx + u).pow(2).mean()
        u0 = model(self.x0)
        bc = u0.pow(2).mean() + (derivative(u0, self.x0) - 1).pow(2).mean()
        return residual + self.w_bc * bc

    @torch.no_grad()
    def error(self, model):
        return (model(self.x) - torch.sin(self.x)).abs().max().item()


def adam_phase(model, problem, iters, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for it in range(1, iters + 1):
        opt.zero_grad()
        loss = problem.loss(model)
        loss.backward()
        opt.step()
        if it % 100 == 0:
            print(f"adam {it}: loss {loss.item():.3e} max error {problem.error(model):.3e}")


def lbfgs_phase(model, problem, rounds, max_iter):
    opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=max_iter, history_size=20,
                            line_search_fn="strong_wolfe")

    def closure():
        loss = problem.loss(model)
        loss.backward()
        return loss

    for r in range(1, rounds + 1):
        opt.zero_grad()
        loss = opt.step(closure)
        print(f"lbfgs {r}: loss {loss.item():.3e} max error {problem.error(model):.3e}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--points", type=int, default=64)
    p.add_argument("--x-max", type=float, default=math.pi)
    p.add_argument("--w-bc", type=float, default=5.0)
    p.add_argument("--adam-iters", type=int, default=300)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--max-iter", type=int, default=20)
    args = p.parse_args()
    torch.manual_seed(0)
    model = PINN()
    problem = Problem(args.points, args.x_max, args.w_bc)
    adam_phase(model, problem, args.adam_iters, args.lr)
    lbfgs_phase(model, problem, args.rounds, args.max_iter)


if __name__ == "__main__":
    main()
