"""Physics-informed net for the viscous Burgers equation: Adam first, then L-BFGS."""
import argparse
import logging
import math
from dataclasses import dataclass

import torch
import torch.nn as nn

log = logging.getLogger("pinn")


@dataclass
class Problem:
    nu: float = 0.01 / math.pi
    n_interior: int = 4000
    n_boundary: int = 200
    n_initial: int = 200

    def sample(self, device, seed):
        g = torch.Generator().manual_seed(seed)
        u = lambda *s: torch.rand(*s, generator=g)
        interior = torch.stack([u(self.n_interior), 2 * u(self.n_interior) - 1], 1)
        sides = torch.where(u(self.n_boundary) < 0.5, -1.0, 1.0)
        boundary = torch.stack([u(self.n_boundary), sides], 1)
        x0 = 2 * u(self.n_initial) - 1
        initial = torch.stack([torch.zeros_like(x0), x0], 1)
        return {"interior": interior.to(device), "boundary": boundary.to(device), "initial": initial.to(device),
                "u0": -torch.sin(math.pi * x0).to(device)}


class MLP(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layers, d = [], 2
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        self.net = nn.Sequential(*layers, nn.Linear(d, 1))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, tx):
        return self.net(tx).squeeze(1)


def residual(net, tx, nu):
    tx = tx.detach().clone().requires_grad_(True)
    u = net(tx)
    du, = torch.autograd.grad(u.sum(), tx, create_graph=True)
    ut, ux = du[:, 0], du[:, 1]
    uxx = torch.autograd.grad(ux.sum(), tx, create_graph=True)[0][:, 1]
    return ut + u * ux - nu * uxx


def total_loss(net, pts, problem, w_data):
    pde = residual(net, pts["interior"], problem.nu).pow(2).mean()
    bc = net(pts["boundary"]).pow(2).mean()
    ic = (net(pts["initial"]) - pts["u0"]).pow(2).mean()
    return pde + w_data * (bc + ic), {"pde": pde.item(), "bc": bc.item(), "ic": ic.item()}


def adam_phase(net, pts, problem, args):
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for it in range(1, args.adam_iters + 1):
        opt.zero_grad()
        loss, parts = total_loss(net, pts, problem, args.w_data)
        loss.backward()
        opt.step()
        if it % args.log_every == 0:
            log.info("adam %5d loss %.3e %s", it, loss.item(), {k: f"{v:.1e}" for k, v in parts.items()})


def lbfgs_phase(net, pts, problem, args):
    opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=args.lbfgs_inner, history_size=50,
                            tolerance_grad=1e-9, tolerance_change=1e-12, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss, _ = total_loss(net, pts, problem, args.w_data)
        loss.backward()
        return loss

    for outer in range(1, args.lbfgs_outer + 1):
        loss = opt.step(closure)
        log.info("lbfgs %3d loss %.3e", outer, loss.item())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--depth", type=int, default=6)
    ap.add_argument("--adam-iters", type=int, default=2000)
    ap.add_argument("--lbfgs-outer", type=int, default=20)
    ap.add_argument("--lbfgs-inner", type=int, default=50)
    ap.add_argument("--interior", type=int, default=4000)
    ap.add_argument("--w-data", type=float, default=10.0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--log-every", type=int, default=200)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    problem = Problem(n_interior=args.interior)
    pts = problem.sample(device, args.seed)
    net = MLP(args.width, args.depth).to(device)
    adam_phase(net, pts, problem, args)
    lbfgs_phase(net, pts, problem, args)
    _, parts = total_loss(net, pts, problem, args.w_data)
    log.info("final %s", parts)
    torch.save(net.state_dict(), "burgers.pt")


if __name__ == "__main__":
    main()
