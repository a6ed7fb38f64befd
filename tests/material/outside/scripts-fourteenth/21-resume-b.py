import argparse
import csv
import os
import tempfile
import torch
import torch.nn as nn


def load_xy():
    with open("data/houses.csv") as f:
        r = csv.reader(f)
        next(r)
        t = torch.tensor([[float(c) for c in row] for row in r])
    t = (t - t.mean(0)) / t.std(0)
    return t[:, :5], t[:, 5:]


class Experiment:
    def __init__(self, total_epochs, ckpt_path):
        torch.manual_seed(0)
        self.x, self.y = load_xy()
        self.model = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 1))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=total_epochs)
        self.start_epoch, self.total_epochs, self.path = 0, total_epochs, ckpt_path

    def save(self, epoch):
        torch.save({
            "epoch": epoch,
            "model": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "scheduler": self.sched.state_dict(),
            "rng": torch.get_rng_state(),
        }, self.path)

    def maybe_resume(self):
        if not os.path.exists(self.path):
            return
        ck = torch.load(self.path, map_location="cpu")
        self.model.load_state_dict(ck["model"])
        torch.set_rng_state(ck["rng"])
        self.start_epoch = ck["epoch"] + 1
        print(f"=> resumed from epoch {ck['epoch']}")

    def run(self, stop_after=None):
        for epoch in range(self.start_epoch, self.total_epochs):
            self.model.train()
            for ix in torch.randperm(640).split(64):
                loss = nn.functional.mse_loss(self.model(self.x[ix]), self.y[ix])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.sched.step()
            self.save(epoch)
            with torch.no_grad():
                self.model.eval()
                val = nn.functional.mse_loss(self.model(self.x[640:]), self.y[640:]).item()
            print(f"epoch {epoch} lr {self.opt.param_groups[0]['lr']:.5f} val {val:.4f}")
            if stop_after is not None and epoch + 1 >= stop_after:
                return


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--resume-demo", action="store_true")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as d:
        ckpt = os.path.join(d, "last.pt")
        exp = Experiment(args.epochs, ckpt)
        exp.run(stop_after=args.epochs // 2 if args.resume_demo else None)
        if args.resume_demo:
            exp = Experiment(args.epochs, ckpt)
            exp.maybe_resume()
            exp.run()
