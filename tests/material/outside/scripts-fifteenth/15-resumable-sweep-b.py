"""Resumable training. With --interrupt-at the run stops there, and goes on in a second Run object as after a crash."""
import argparse
import os
import tempfile
import warnings

import numpy as np
import torch
from torch import nn


def build_loader_order(n, bs, epoch, seed):
    g = torch.Generator().manual_seed(seed * 1000 + epoch)
    return torch.randperm(n, generator=g).split(bs)


class Run:
    def __init__(self, args, data):
        torch.manual_seed(args.seed)
        self.args = args
        self.x, self.y = data
        self.model = nn.Sequential(nn.Linear(12, 32), nn.SiLU(), nn.Linear(32, 1))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.per_epoch = -(-len(self.x) // args.batch)
        total = args.epochs * self.per_epoch
        warm = self.per_epoch
        self.sched = torch.optim.lr_scheduler.SequentialLR(
            self.opt,
            [torch.optim.lr_scheduler.LinearLR(self.opt, 0.1, 1.0, total_iters=warm),
             torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=total - warm)],
            milestones=[warm])
        self.epoch = 0

    def save(self, path):
        tmp = path + ".tmp"
        torch.save({
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "sched": self.sched.state_dict(),
        }, tmp)
        os.replace(tmp, path)

    def load(self, path):
        ck = torch.load(path)
        self.model.load_state_dict(ck["model"])
        self.opt.load_state_dict(ck["opt"])
        self.epoch = ck["epoch"]

    def run_until(self, last):
        while self.epoch < last:
            self.model.train()
            tot = 0.0
            for idx in build_loader_order(len(self.x), self.args.batch, self.epoch, self.args.seed):
                self.opt.zero_grad()
                loss = nn.functional.mse_loss(self.model(self.x[idx]), self.y[idx])
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 2.0)
                self.opt.step()
                self.sched.step()
                tot += loss.item() * len(idx)
            self.epoch += 1
            print(f"epoch {self.epoch:2d} mse {tot / len(self.x):.5f} lr {self.opt.param_groups[0]['lr']:.5f}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default=os.path.join(here, "data", "bikes.npz"))
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--interrupt-at", type=int, default=0)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--seed", type=int, default=4)
    args = ap.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*epoch parameter.*")
    z = np.load(args.data)
    y = torch.from_numpy(z["returns"])[:, None]
    data = torch.from_numpy(z["x"]), (y - y.mean()) / y.std()
    run = Run(args, data)
    if args.interrupt_at:
        with tempfile.TemporaryDirectory() as tmp:
            ckpt = os.path.join(tmp, "last.pt")
            run.run_until(args.interrupt_at)
            run.save(ckpt)
            print("-- interrupted, starting again --")
            run = Run(args, data)
            run.load(ckpt)
    run.run_until(args.epochs)
    w = torch.cat([p.detach().flatten() for p in run.model.parameters()])
    print("weight norm", round(w.norm().item(), 6))


if __name__ == "__main__":
    main()
