# PINN: 1-D heat equation  u_t = k u_xx,  u(0,t)=u(1,t)=0, u(x,0)=sin(pi x)
# Adam warm start, then L-BFGS polishing
import argparse, math, time
import torch, torch.nn as nn

pi = math.pi


class Field(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        d = [2] + [width] * depth + [1]
        self.lin = nn.ModuleList(nn.Linear(a, b) for a, b in zip(d[:-1], d[1:]))
        for l in self.lin:
            nn.init.xavier_normal_(l.weight)
            nn.init.zeros_(l.bias)

    def forward(self, x, t):
        h = torch.cat([x, t], 1)
        for l in self.lin[:-1]:
            h = torch.tanh(l(h))
        return self.lin[-1](h)


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(f, x, t, k):
    x, t = x.requires_grad_(True), t.requires_grad_(True)
    u = f(x, t)
    return d(u, t) - k * d(d(u, x), x)


class Problem:
    def __init__(self, k, n_in, n_bc, n_ic, seed, dtype):
        g = torch.Generator().manual_seed(seed)
        r = lambda n: torch.rand(n, 1, generator=g, dtype=dtype)
        self.k = k
        self.xi, self.ti = r(n_in), r(n_in)
        self.tb = r(n_bc)
        self.xb = (torch.rand(n_bc, 1, generator=g) < 0.5).to(dtype)
        self.x0 = r(n_ic)
        self.t0 = torch.zeros_like(self.x0)
        self.u0 = torch.sin(pi * self.x0)

    def loss(self, f, w_bc=10.0, w_ic=10.0):
        pde = residual(f, self.xi.clone(), self.ti.clone(), self.k).pow(2).mean()
        bc = f(self.xb, self.tb).pow(2).mean()
        ic = (f(self.x0, self.t0) - self.u0).pow(2).mean()
        return pde + w_bc * bc + w_ic * ic, (pde.item(), bc.item(), ic.item())


@torch.no_grad()
def rel_error(f, k, dtype, n=64):
    x, t = torch.meshgrid(torch.linspace(0, 1, n, dtype=dtype), torch.linspace(0, 1, n, dtype=dtype), indexing='ij')
    x, t = x.reshape(-1, 1), t.reshape(-1, 1)
    true = torch.exp(-k * pi ** 2 * t) * torch.sin(pi * x)
    return ((f(x, t) - true).norm() / true.norm()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--k', type=float, default=0.1)
    ap.add_argument('--width', type=int, default=32)
    ap.add_argument('--depth', type=int, default=4)
    ap.add_argument('--n-in', type=int, default=2000)
    ap.add_argument('--n-bc', type=int, default=200)
    ap.add_argument('--n-ic', type=int, default=200)
    ap.add_argument('--adam', type=int, default=2000)
    ap.add_argument('--lbfgs', type=int, default=50, help='outer L-BFGS calls, 20 iterations each')
    ap.add_argument('--lr', type=float, default=2e-3)
    ap.add_argument('--out', default='pinn.pt')
    args = ap.parse_args()

    torch.manual_seed(0)
    dtype = torch.float64
    f = Field(args.width, args.depth).to(dtype)
    prob = Problem(args.k, args.n_in, args.n_bc, args.n_ic, 1, dtype)
    t0 = time.time()

    adam = torch.optim.Adam(f.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(adam, gamma=0.1 ** (1 / max(args.adam, 1)))
    for it in range(args.adam):
        adam.zero_grad()
        loss, parts = prob.loss(f)
        loss.backward()
        adam.step()
        sched.step()
        if it % 200 == 0:
            print('adam  %5d  loss %.3e  pde %.2e bc %.2e ic %.2e  err %.3e' %
                  (it, loss.item(), *parts, rel_error(f, args.k, dtype)))

    lbfgs = torch.optim.LBFGS(f.parameters(), lr=1.0, max_iter=20, history_size=50,
                              tolerance_grad=1e-10, tolerance_change=1e-12, line_search_fn='strong_wolfe')

    def closure():
        loss, _ = prob.loss(f)
        loss.backward()
        return loss

    for it in range(args.lbfgs):
        lbfgs.zero_grad()
        loss = lbfgs.step(closure)
        if it % 5 == 0:
            print('lbfgs %5d  loss %.3e  err %.3e' % (it, loss.item(), rel_error(f, args.k, dtype)))

    print('final relative L2 error %.3e  (%.1fs)' % (rel_error(f, args.k, dtype), time.time() - t0))
    torch.save({'state': f.state_dict(), 'args': vars(args)}, args.out)


if __name__ == '__main__':
    main()
