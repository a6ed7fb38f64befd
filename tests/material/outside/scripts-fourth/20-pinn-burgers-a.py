"""
Physics-informed network for the viscous Burgers equation
    u_t + u u_x = nu u_xx,  x in [-1, 1], t in [0, 1]
    u(0, x) = -sin(pi x),   u(t, -1) = u(t, 1) = 0
"""
import argparse
import math
import time

import torch
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self, width=32, depth=5):
        super().__init__()
        layers, d = [], 2
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        layers.append(nn.Linear(d, 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, t, x):
        return self.net(torch.cat([t, x], dim=1))


class BurgersPINN:
    def __init__(self, args, device):
        self.nu = args.nu
        self.device = device
        self.net = MLP(args.width, args.depth).to(device)
        self.args = args
        self.resample()

    def resample(self):
        a, dev = self.args, self.device
        self.t_f = torch.rand(a.n_f, 1, device=dev)
        self.x_f = torch.rand(a.n_f, 1, device=dev) * 2 - 1
        self.x_0 = torch.rand(a.n_u, 1, device=dev) * 2 - 1
        self.t_b = torch.rand(a.n_u, 1, device=dev)

    def residual(self, t, x):
        t = t.clone().requires_grad_(True)
        x = x.clone().requires_grad_(True)
        u = self.net(t, x)
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

    def losses(self):
        f = self.residual(self.t_f, self.x_f)
        u0 = self.net(torch.zeros_like(self.x_0), self.x_0)
        left = self.net(self.t_b, -torch.ones_like(self.t_b))
        right = self.net(self.t_b, torch.ones_like(self.t_b))
        loss_f = f.pow(2).mean()
        loss_0 = (u0 + torch.sin(math.pi * self.x_0)).pow(2).mean()
        loss_b = left.pow(2).mean() + right.pow(2).mean()
        return loss_f, loss_0, loss_b

    def total(self):
        loss_f, loss_0, loss_b = self.losses()
        return loss_f + self.args.w_0 * loss_0 + self.args.w_b * loss_b


def train_adam(pinn, args):
    opt = torch.optim.Adam(pinn.net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9998)
    t0 = time.time()
    for it in range(args.adam_iters):
        if it % args.resample_every == 0:
            pinn.resample()
        opt.zero_grad()
        loss = pinn.total()
        loss.backward()
        opt.step()
        sched.step()
        if it % 500 == 0:
            f, z, b = (v.item() for v in pinn.losses())
            print(f'adam {it:6d} total {loss.item():.3e} pde {f:.3e} ic {z:.3e} bc {b:.3e} '
                  f'({time.time() - t0:.0f}s)')


def train_lbfgs(pinn, args):
    opt = torch.optim.LBFGS(pinn.net.parameters(), max_iter=args.lbfgs_iters, history_size=50,
                            tolerance_grad=1e-9, tolerance_change=1e-12, line_search_fn='strong_wolfe')
    calls = 0

    def closure():
        nonlocal calls
        opt.zero_grad()
        loss = pinn.total()
        loss.backward()
        if calls % 200 == 0:
            print(f'lbfgs eval {calls:5d} total {loss.item():.3e}')
        calls += 1
        return loss

    opt.step(closure)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--nu', type=float, default=0.01 / math.pi)
    p.add_argument('--n-f', type=int, default=8000)
    p.add_argument('--n-u', type=int, default=200)
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--depth', type=int, default=5)
    p.add_argument('--adam-iters', type=int, default=10000)
    p.add_argument('--lbfgs-iters', type=int, default=2000)
    p.add_argument('--resample-every', type=int, default=1000)
    p.add_argument('--w-0', type=float, default=10.0)
    p.add_argument('--w-b', type=float, default=10.0)
    p.add_argument('--lr', type=float, default=1e-3)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out', default='burgers.pt')
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    pinn = BurgersPINN(args, device)
    train_adam(pinn, args)
    if args.lbfgs_iters > 0:
        train_lbfgs(pinn, args)
    torch.save(pinn.net.state_dict(), args.out)


if __name__ == '__main__':
    main()
