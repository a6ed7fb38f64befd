import json
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CFG = {
    "data": {"root": os.environ.get("KWS_ROOT", "data/kws"), "train": "train.jsonl", "valid": "valid.jsonl",
             "frames": 98, "spec_augment": {"freq": 8, "time": 12}},
    "model": {"channels": 96, "blocks": 4, "hidden": 128},
    "optim": {"lr": 2e-3, "weight_decay": 1e-2, "micro_batch": 32, "accumulate": 4,
              "epochs": int(os.environ.get("KWS_EPOCHS", 40)), "clip": 5.0},
    "seed": 11,
}


class MelDataset(Dataset):
    """Each line of the manifest: {"mel": "clips/x.npy", "label": "yes"}; mel has the shape (80, T)."""

    def __init__(self, root, manifest, frames, labels=None, augment=None):
        self.root, self.frames, self.augment = root, frames, augment
        with open(os.path.join(root, manifest)) as f:
            self.items = [json.loads(line) for line in f if line.strip()]
        self.labels = labels or sorted({it["label"] for it in self.items})
        self.index = {l: i for i, l in enumerate(self.labels)}

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        it = self.items[i]
        mel = torch.from_numpy(np.load(os.path.join(self.root, it["mel"])).astype("float32"))
        if mel.size(1) < self.frames:
            mel = F.pad(mel, (0, self.frames - mel.size(1)))
        start = random.randint(0, mel.size(1) - self.frames) if self.augment else 0
        mel = mel[:, start:start + self.frames]
        mel = (mel - mel.mean()) / (mel.std() + 1e-5)
        if self.augment:
            f = random.randint(0, self.augment["freq"])
            t = random.randint(0, self.augment["time"])
            f0, t0 = random.randint(0, 80 - f), random.randint(0, self.frames - t)
            mel = mel.clone()
            mel[f0:f0 + f] = 0
            mel[:, t0:t0 + t] = 0
        return mel, self.index[it["label"]]


class ResBlock(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(ch, ch, 5, padding=2 * dilation, dilation=dilation),
                                 nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv1d(ch, ch, 1), nn.GroupNorm(8, ch))

    def forward(self, x):
        return F.silu(x + self.net(x))


class KWSNet(nn.Module):
    def __init__(self, classes, channels, blocks, hidden):
        super().__init__()
        self.stem = nn.Conv1d(80, channels, 5, padding=2)
        self.blocks = nn.Sequential(*[ResBlock(channels, 2 ** i) for i in range(blocks)])
        self.gru = nn.GRU(channels, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        h, _ = self.gru(self.blocks(self.stem(x)).transpose(1, 2))
        return self.fc(h.mean(1))


def accuracy(model, loader, device):
    model.eval()
    hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x.to(device)).argmax(-1).cpu() == y).sum().item()
            n += len(y)
    return hits / max(1, n)


def run(cfg):
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    d, o = cfg["data"], cfg["optim"]
    train = MelDataset(d["root"], d["train"], d["frames"], augment=d["spec_augment"])
    valid = MelDataset(d["root"], d["valid"], d["frames"], labels=train.labels)
    train_dl = DataLoader(train, o["micro_batch"], shuffle=True, drop_last=True)
    valid_dl = DataLoader(valid, o["micro_batch"])
    model = KWSNet(len(train.labels), **cfg["model"]).to(device)
    optim = torch.optim.AdamW(model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
    acc_steps = o["accumulate"]
    best = 0.0
    for epoch in range(o["epochs"]):
        model.train()
        optim.zero_grad()
        usable = len(train_dl) - len(train_dl) % acc_steps
        for i, (x, y) in enumerate(train_dl):
            if i == usable:
                break
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y) / acc_steps
            loss.backward()
            if (i + 1) % acc_steps == 0:
                nn.utils.clip_grad_norm_(model.parameters(), o["clip"])
                optim.step()
                optim.zero_grad()
        acc = accuracy(model, valid_dl, device)
        print(f"epoch {epoch:3d} last loss {loss.item() * acc_steps:.4f} valid {acc:.4f}")
        if acc >= best:
            best = acc
            torch.save({"state": model.state_dict(), "labels": train.labels, "cfg": cfg}, "kws_best.pt")


if __name__ == "__main__":
    run(CFG)
