"""In-house trainer for preemptible machines.

A job trains for `epochs_per_job` epochs, writes a checkpoint and gives the machine back; the next
job goes on from there. A run cut into jobs is the same training as one long job, apart from the
random numbers (order of the batches, dropout). `launch` plays the queue: it starts jobs until the run is finished.

    python preemptible.py [config.yaml]

The config may override any of the values in DEFAULTS.
"""
import math
import os
import sys
import tempfile

import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, TensorDataset

DEFAULTS = yaml.safe_load("""
run_dir: null          # null: a fresh temporary directory
epochs: 9
epochs_per_job: 3
data:
  n_train: 8000
  n_val: 2000
  dim: 20
  batch_size: 64
model:
  hidden: 128
  dropout: 0.1
optim:
  lr: 2.0e-3
  weight_decay: 0.01
  warmup_steps: 250
  clip: 1.0
seed: 12
""")


def merge(base, over):
    out = dict(base)
    for k, v in (over or {}).items():
        out[k] = merge(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v
    return out


def make_data(cfg, seed):
    """interactions of a few inputs, binary target"""
    g = torch.Generator().manual_seed(seed)
    n = cfg["n_train"] + cfg["n_val"]
    x = torch.randn(n, cfg["dim"], generator=g)
    score = x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) - 0.5 * x[:, 3] ** 2 + 0.5 + 0.4 * torch.randn(n, generator=g)
    y = (score > 0).float()
    k = cfg["n_train"]
    return TensorDataset(x[:k], y[:k]), TensorDataset(x[k:], y[k:])


class Job:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.path = os.path.join(cfg["run_dir"], "last.pt")
        torch.manual_seed(cfg["seed"])
        d, m, o = cfg["data"], cfg["model"], cfg["optim"]
        train, val = make_data(d, cfg["seed"])
        self.train_dl = DataLoader(train, d["batch_size"], shuffle=True, drop_last=True)
        self.val_dl = DataLoader(val, 500)
        self.model = nn.Sequential(
            nn.Linear(d["dim"], m["hidden"]), nn.GELU(), nn.Dropout(m["dropout"]),
            nn.Linear(m["hidden"], m["hidden"]), nn.GELU(), nn.Dropout(m["dropout"]),
            nn.Linear(m["hidden"], 1)).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
        total, warmup = cfg["epochs"] * len(self.train_dl), o["warmup_steps"]

        def factor(step):
            if step < warmup:
                return (step + 1) / warmup
            return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)
        self.epoch = 0
        self.best = 0.0
        if os.path.exists(self.path):
            self.load()

    def save(self):
        tmp = self.path + ".tmp"
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
        }, tmp)
        os.replace(tmp, self.path)

    def load(self):
        state = torch.load(self.path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch = state["epoch"]
        self.best = state["best"]
        print(f"resumed from {self.path} at epoch {self.epoch}")

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["optim"]["clip"])
            self.optimizer.step()
            self.scheduler.step()
            total += loss.item()
        return total / len(self.train_dl)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        ok = sum(((self.model(x.to(self.device)).squeeze(1) > 0).float().cpu() == y).sum().item()
                 for x, y in self.val_dl)
        return ok / len(self.val_dl.dataset)

    def run(self):
        """trains until the job's share is done; True when the whole run is finished"""
        torch.manual_seed(self.cfg["seed"] + 1 + self.epoch)
        stop = min(self.cfg["epochs"], self.epoch + self.cfg["epochs_per_job"])
        while self.epoch < stop:
            loss = self.train_epoch()
            acc = self.validate()
            self.epoch += 1
            self.best = max(self.best, acc)
            print(f"epoch {self.epoch} loss {loss:.4f} acc {acc:.4f} best {self.best:.4f} "
                  f"lr {self.scheduler.get_last_lr()[0]:.2e}")
            self.save()
        return self.epoch >= self.cfg["epochs"]


def launch(cfg):
    job = 0
    while True:
        job += 1
        print(f"--- job {job}")
        if Job(cfg).run():
            break


if __name__ == "__main__":
    override = yaml.safe_load(open(sys.argv[1])) if len(sys.argv) > 1 else {}
    config = merge(DEFAULTS, override)
    if config["run_dir"] is None:
        config["run_dir"] = tempfile.mkdtemp(prefix="run_")
    os.makedirs(config["run_dir"], exist_ok=True)
    launch(config)
