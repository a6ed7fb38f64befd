"""
usage: 10-credit-resume.py --epochs 6 --stop-after 3

Trains in two "jobs": the first one ends after --stop-after epochs (as if the queue had killed
it), the second one picks up the checkpoint in a temporary folder. The result must be the
same as that of one uninterrupted run (--stop-after 0).
"""
import argparse
import csv
import os
import tempfile

import torch
from torch import nn, optim

ROOT = os.path.dirname(os.path.realpath(__file__))


def get_data():
    with open(os.path.join(ROOT, "data", "credit.csv"), newline="") as f:
        it = csv.reader(f)
        next(it)
        t = torch.tensor([[float(c) for c in row] for row in it])
    onehot = torch.cat([nn.functional.one_hot(t[:, 0].long(), 8), nn.functional.one_hot(t[:, 1].long(), 5)], 1)
    num = (t[:, 2:5] - t[:, 2:5].mean(0)) / t[:, 2:5].std(0)
    return torch.cat([onehot.float(), num], 1), t[:, 5:]


class Job:
    ACCUM = 3

    def __init__(self, args, folder):
        self.args, self.path = args, os.path.join(folder, "last.pt")
        torch.manual_seed(args.seed)
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ELU(), nn.Linear(32, 16), nn.ELU(), nn.Linear(16, 1))
        self.opt = optim.RMSprop(self.net.parameters(), lr=args.lr, momentum=0.5)
        self.sched = optim.lr_scheduler.ExponentialLR(self.opt, gamma=0.6)       # one step an epoch
        self.ema = {k: v.clone() for k, v in self.net.state_dict().items()}
        self.x, self.y = get_data()
        self.epoch = 0
        if os.path.exists(self.path):
            self.load()

    def save(self):
        torch.save(dict(net=self.net.state_dict(), opt=self.opt.state_dict(), sched=self.sched.state_dict(),
                        ema=self.ema, epoch=self.epoch), self.path)

    def load(self):
        c = torch.load(self.path)
        self.net.load_state_dict(c["net"])
        self.opt.load_state_dict(c["opt"])
        self.sched.load_state_dict(c["sched"])
        self.ema, self.epoch = c["ema"], c["epoch"]
        print(f"-- resumed, next epoch is {self.epoch}, lr {self.opt.param_groups[0]['lr']:.6f}")

    def one_epoch(self):
        order = torch.randperm(len(self.y), generator=torch.Generator().manual_seed(1000 + self.epoch))
        total = 0.0
        micro = order.split(20)
        for start in range(0, len(micro), self.ACCUM):
            window = micro[start:start + self.ACCUM]
            rows = sum(len(w) for w in window)
            self.opt.zero_grad()
            for w in window:
                l = nn.functional.binary_cross_entropy_with_logits(self.net(self.x[w]), self.y[w], reduction="sum")
                (l / rows).backward()
                total += l.item()
            nn.utils.clip_grad_value_(self.net.parameters(), 0.05)
            self.opt.step()
            for k, v in self.net.state_dict().items():
                self.ema[k].lerp_(v, 0.05)
        return total / len(self.y)

    def run(self, until):
        while self.epoch < until:
            lr = self.opt.param_groups[0]["lr"]
            loss = self.one_epoch()
            print(f"epoch {self.epoch} lr {lr:.6f} loss {loss:.5f}")
            self.epoch += 1
            self.sched.step()
            self.save()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--stop-after", type=int, default=3)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--seed", type=int, default=13)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.stop_after:
            Job(args, folder).run(args.stop_after)
        job = Job(args, folder)
        job.run(args.epochs)
    print("ema norm %.6f" % torch.cat([v.flatten() for v in job.ema.values()]).norm())


if __name__ == "__main__":
    main()
