"""
Physics-informed network for the damped oscillator
    u'' + 2*d*u' + w0^2*u = 0,   u(0)=1, u'(0)=0
First a few Adam iterations, then L-BFGS.
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(123)
torch.set_default_dtype(torch.float64)
D, W0 = 1.0, 6.0


def exact(t):
    w = np.sqrt(W0 ** 2 - D ** 2)
    phi = np.arctan(-D / w)
    a = 1 / (2 * np.cos(phi))
    return 2 * a * np.exp(-D * t) * np.cos(phi + w * t)


class PINN(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        dims = [1] + [width] * depth + [1]
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:])])

    def forward(self, t):
        for lin in self.linears[:-1]:
            t = torch.tanh(lin(t))
        return self.linears[-1](t)


class Problem:
    def __init__(self, net, n_colloc=60):
        self.net = net
        self.t0 = torch.zeros(1, 1, requires_grad=True)
        self.tc = torch.linspace(0, 1, n_colloc).view(-1, 1).requires_grad_()

    @staticmethod
    def d(u, t):
        return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]

    def loss(self):
        u0 = self.net(self.t0)
        boundary = (u0 - 1).pow(2).sum() + 1e-1 * self.d(u0, self.t0).pow(2).sum()
        u = self.net(self.tc)
        ut = self.d(u, self.tc)
        utt = self.d(ut, self.tc)
        physics = (utt + 2 * D * ut + W0 ** 2 * u).pow(2).mean()
        return boundary + 1e-4 * physics


def train_adam(problem, iters=100, lr=5e-3):
    opt = torch.optim.Adam(problem.net.parameters(), lr=lr)
    for i in range(iters):
        opt.zero_grad()
        loss = problem.loss()
        loss.backward()
        opt.step()
    print(f"adam: {loss.item():.3e}")


def train_lbfgs(problem, outer=8, max_iter=10):
    opt = torch.optim.LBFGS(problem.net.parameters(), lr=1.0, max_iter=max_iter, history_size=50,
                            line_search_fn="strong_wolfe")

    def closure():
        loss = problem.loss()
        loss.backward()
        return loss

    for k in range(outer):
        loss = opt.step(closure)
        print(f"lbfgs {k}: {loss.item():.3e}")


def main():
    net = PINN()
    problem = Problem(net)
    train_adam(problem)
    train_lbfgs(problem)
    t = np.linspace(0, 1, 100)
    with torch.no_grad():
        pred = net(torch.from_numpy(t).view(-1, 1)).numpy().ravel()
    print(f"max error {np.abs(pred - exact(t)).max():.3f}")


if __name__ == "__main__":
    main()
