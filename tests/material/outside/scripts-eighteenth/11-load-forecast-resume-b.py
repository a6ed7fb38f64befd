"""GRU forecaster for the load series. Trains `--stop` epochs, then continues from the checkpoint."""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1])


class Run:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        s = np.loadtxt(args.data, skiprows=1, dtype=np.float32)
        s = torch.from_numpy((s - s[:700].mean()) / s[:700].std())
        win = s.unfold(0, args.window + 1, 2)
        self.x, self.y = win[:, :-1, None], win[:, -1:]
        self.model = Forecaster()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=args.epochs)
        self.epoch = 0

    def save(self, path):
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.opt.state_dict(),
                "scheduler": self.sched.state_dict(),
                "epoch": self.epoch,
            },
            path,
        )

    def load(self, path):
        ckpt = torch.load(path)
        self.model.load_state_dict(ckpt["model"])
        self.sched.load_state_dict(ckpt["scheduler"])
        for group, lr in zip(self.opt.param_groups, self.sched.get_last_lr()):
            group["lr"] = lr
        self.epoch = ckpt["epoch"]
        print(f"resumed at epoch {self.epoch}, lr {self.opt.param_groups[0]['lr']:.2e}")

    def fit(self, until):
        a = self.args
        while self.epoch < until:
            g = torch.Generator().manual_seed(1000 + self.epoch)
            perm = torch.randperm(len(self.x), generator=g)
            total = 0.0
            for i in range(0, len(perm), a.batch):
                idx = perm[i:i + a.batch]
                loss = F.mse_loss(self.model(self.x[idx]), self.y[idx])
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                total += loss.item() * len(idx)
            self.sched.step()
            self.epoch += 1
            print(f"epoch {self.epoch} mse {total / len(perm):.5f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/load.csv")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--stop", type=int, default=3)
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "last.pt")
        first = Run(args)
        first.fit(args.stop)
        first.save(path)
        second = Run(args)
        second.load(path)
        second.fit(args.epochs)


if __name__ == "__main__":
    main()
