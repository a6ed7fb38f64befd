"""Multi-task model for driving frames: steering angle, brake probability and scene type.
Reads log.csv (frame,steer,brake,scene) with frames stored as npy arrays under frames/."""
import os
import sys

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset


class DrivingLog(Dataset):
    def __init__(self, root, df, train):
        self.root, self.df, self.train = root, df.reset_index(drop=True), train

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        row = self.df.iloc[i]
        img = np.load(os.path.join(self.root, "frames", row.frame))
        x = torch.from_numpy(img).permute(2, 0, 1).float() / 255.0 - 0.5
        steer = float(row.steer)
        if self.train and torch.rand(1) < 0.5:
            x, steer = x.flip(2), -steer
        return x, torch.tensor(steer), torch.tensor(float(row.brake)), int(row.scene)


class DriveNet(nn.Module):
    def __init__(self, n_scenes, width=32, dropout=0.1):
        super().__init__()
        chans = [3, width, width * 2, width * 4, width * 4]
        convs = []
        for a, b in zip(chans[:-1], chans[1:]):
            convs += [nn.Conv2d(a, b, 5, 2, 2), nn.GroupNorm(8, b), nn.ELU()]
        self.trunk = nn.Sequential(*convs, nn.AdaptiveAvgPool2d((2, 4)), nn.Flatten(), nn.Dropout(dropout))
        feat = chans[-1] * 8
        self.steer = nn.Sequential(nn.Linear(feat, 64), nn.ELU(), nn.Linear(64, 1))
        self.brake = nn.Sequential(nn.Linear(feat, 64), nn.ELU(), nn.Linear(64, 1))
        self.scene = nn.Linear(feat, n_scenes)

    def forward(self, x):
        h = self.trunk(x)
        return self.steer(h).squeeze(1), self.brake(h).squeeze(1), self.scene(h)


class UncertaintyWeighting(nn.Module):
    """Kendall et al. weighting with one log-variance per task."""

    def __init__(self, names):
        super().__init__()
        self.names = names
        self.log_var = nn.Parameter(torch.zeros(len(names)))

    def forward(self, losses):
        stacked = torch.stack([losses[n] for n in self.names])
        return (torch.exp(-self.log_var) * stacked + self.log_var).sum()


def task_losses(out, steer, brake, scene):
    return {
        "steer": F.smooth_l1_loss(out[0], steer),
        "brake": F.binary_cross_entropy_with_logits(out[1], brake),
        "scene": F.cross_entropy(out[2], scene),
    }


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device(cfg.get("device") or ("cuda" if torch.cuda.is_available() else "cpu"))
        df = pd.read_csv(os.path.join(cfg["root"], "log.csv"))
        cut = int(len(df) * 0.85)
        self.train_dl = DataLoader(DrivingLog(cfg["root"], df[:cut], True), cfg["batch_size"], shuffle=True,
                                   num_workers=cfg.get("workers", 2))
        self.val_dl = DataLoader(DrivingLog(cfg["root"], df[cut:], False), cfg["batch_size"])
        self.model = DriveNet(int(df.scene.max()) + 1).to(self.device)
        self.weighting = UncertaintyWeighting(["steer", "brake", "scene"]).to(self.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=cfg["lr"],
            weight_decay=cfg["weight_decay"],
        )
        self.clip_params = [p for g in self.optimizer.param_groups for p in g["params"]]
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, cfg["epochs"])
        self.best = float("inf")

    def run_epoch(self):
        self.model.train()
        sums = dict.fromkeys(self.weighting.names, 0.0)
        for x, steer, brake, scene in self.train_dl:
            x, steer, brake, scene = (t.to(self.device) for t in (x, steer, brake, scene))
            losses = task_losses(self.model(x), steer, brake, scene)
            total = self.weighting(losses)
            self.optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(self.clip_params, self.cfg["clip"])
            self.optimizer.step()
            for k, v in losses.items():
                sums[k] += v.item()
        return {k: v / len(self.train_dl) for k, v in sums.items()}

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        mae = brake_ok = scene_ok = n = 0.0
        for x, steer, brake, scene in self.val_dl:
            s, b, c = (t.cpu() for t in self.model(x.to(self.device)))
            mae += (s - steer).abs().sum().item()
            brake_ok += ((b > 0).float() == brake).sum().item()
            scene_ok += (c.argmax(1) == scene).sum().item()
            n += len(steer)
        return mae / n, brake_ok / n, scene_ok / n

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            tr = self.run_epoch()
            mae, b, s = self.validate()
            self.scheduler.step()
            w = torch.exp(-self.weighting.log_var.detach()).tolist()
            print(f"{epoch:03d} " + " ".join(f"{k}={v:.4f}" for k, v in tr.items())
                  + f" | mae {mae:.4f} brake {b:.3f} scene {s:.3f} | w {[round(v, 3) for v in w]}")
            if mae < self.best:
                self.best = mae
                torch.save({"model": self.model.state_dict(), "weighting": self.weighting.state_dict()},
                           os.path.join(self.cfg["root"], "drivenet.pt"))


if __name__ == "__main__":
    config = dict(batch_size=64, lr=3e-4, weight_decay=1e-2, clip=5.0, epochs=40)
    config.update(yaml.safe_load(open(sys.argv[1])))
    Trainer(config).fit()
