"""Physics-informed network for the viscous Burgers equation

    u_t + u u_x = nu u_xx,   x in [-1, 1], t in [0, 1],   u(0, x) = -sin(pi x),   u(t, +-1) = 0

First Adam, then L-BFGS on a fixed set of collocation points.
"""
import argparse
import math

import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        dims = [2] + [width] * depth + [1]
        layers = []
        for a, b in zip(dims[:-2], dims[1:-1]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        layers.append(nn.Linear(dims[-2], 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, t, x):
        return self.net(torch.cat([t, x], 1))


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


class PINN:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        self.net = Net(args.width, args.depth)
        self.nu = 0.01 / math.pi
        n = args.n_colloc
        self.t_f = torch.rand(n, 1).requires_grad_(True)
        self.x_f = (torch.rand(n, 1) * 2 - 1).requires_grad_(True)
        self.x_0 = torch.rand(args.n_init, 1) * 2 - 1
        self.u_0 = -torch.sin(math.pi * self.x_0)
        self.t_b = torch.rand(args.n_bound, 1)
        self.n_eval = 0

    def loss(self):
        u = self.net(self.t_f, self.x_f)
        u_t, u_x = d(u, self.t_f), d(u, self.x_f)
        u_xx = d(u_x, self.x_f)
        res = u_t + u * u_x - self.nu * u_xx
        init = self.net(torch.zeros_like(self.x_0), self.x_0) - self.u_0
        one = torch.ones_like(self.t_b)
        bound = torch.cat([self.net(self.t_b, one), self.net(self.t_b, -one)])
        return (res ** 2).mean() + self.args.w_data * ((init ** 2).mean() + (bound ** 2).mean())

    def train_adam(self):
        opt = torch.optim.Adam(self.net.parameters(), lr=self.args.lr)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=max(1, self.args.adam_iters // 3), gamma=0.3)
        for it in range(self.args.adam_iters):
            opt.zero_grad()
            loss = self.loss()
            loss.backward()
            opt.step()
            sched.step()
            if it % self.args.log_every == 0:
                print(f"adam {it} loss {loss.item():.4e}")

    def train_lbfgs(self):
        opt = torch.optim.LBFGS(
            self.net.parameters(), lr=1.0, max_iter=self.args.lbfgs_iters, max_eval=int(1.25 * self.args.lbfgs_iters),
            history_size=50, tolerance_grad=1e-9, tolerance_change=1e-12, line_search_fn="strong_wolfe")

        def closure():
            opt.zero_grad()
            loss = self.loss()
            loss.backward()
            self.n_eval += 1
            if self.n_eval % self.args.log_every == 0:
                print(f"lbfgs eval {self.n_eval} loss {loss.item():.4e}")
            return loss

        opt.step(closure)

    def solve(self):
        self.train_adam()
        self.train_lbfgs()
        print(f"final loss {self.loss().item():.4e}")
        torch.save(self.net.state_dict(), self.args.out)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--depth", type=int, default=5)
    p.add_argument("--n_colloc", type=int, default=6000)
    p.add_argument("--n_init", type=int, default=200)
    p.add_argument("--n_bound", type=int, default=200)
    p.add_argument("--w_data", type=float, default=10.0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--adam_iters", type=int, default=3000)
    p.add_argument("--lbfgs_iters", type=int, default=5000)
    p.add_argument("--log_every", type=int, default=200)
    p.add_argument("--seed", type=int, default=4)
    p.add_argument("--out", default="burgers.pt")
    return p.parse_args()


if __name__ == "__main__":
    PINN(parse()).solve()
