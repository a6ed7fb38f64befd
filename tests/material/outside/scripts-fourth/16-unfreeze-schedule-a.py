# Fine-tune a pretrained image encoder for leaf-disease regression (severity 0..1).
# First `freeze_epochs` train only the head, then the encoder joins with a lower lr.
import json
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

cfg = dict(
    images="leaves_x.npy",        # (N,3,H,W) float32, already normalised
    severity="leaves_y.npy",      # (N,)
    pretrained="",                # state dict of Encoder
    batch_size=32,
    epochs=25,
    freeze_epochs=5,
    lr_head=1e-3,
    lr_encoder=1e-4,
    weight_decay=0.01,
    clip=1.0,
    seed=3,
    out="leaf.pt",
)


class LeafData(Dataset):
    def __init__(self, x, y, train):
        self.x, self.y, self.train = x, y, train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = torch.from_numpy(self.x[i].copy())
        if self.train and np.random.rand() < 0.5:
            img = img.flip(-1)
        return img, torch.tensor(float(self.y[i]))


class Encoder(nn.Module):
    def __init__(self, widths=(32, 64, 128)):
        super().__init__()
        c, mods = 3, []
        for w in widths:
            mods += [nn.Conv2d(c, w, 3, 2, 1), nn.GroupNorm(8, w), nn.SiLU()]
            c = w
        self.body = nn.Sequential(*mods, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.dim = c

    def forward(self, x):
        return self.body(x)


class SeverityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Sequential(nn.Linear(self.encoder.dim, 64), nn.SiLU(), nn.Dropout(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.head(self.encoder(x)).squeeze(-1)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def unfreeze_encoder(model, optimizer, cfg):
    set_trainable(model.encoder, True)
    optimizer.add_param_group({"params": list(model.encoder.parameters()), "lr": cfg["lr_encoder"]})
    n = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"encoder unfrozen, {n} trainable parameters")


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    err, n = 0.0, 0
    for x, y in loader:
        err += (model(x.to(device)).sigmoid().cpu() - y).abs().sum().item()
        n += len(y)
    return err / n


def main():
    if len(sys.argv) > 1:
        cfg.update(json.load(open(sys.argv[1])))
    torch.manual_seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    x, y = np.load(cfg["images"], mmap_mode="r"), np.load(cfg["severity"])
    order = np.random.permutation(len(y))
    cut = int(0.85 * len(y))
    train = DataLoader(Subset(LeafData(x, y, True), order[:cut].tolist()), cfg["batch_size"], shuffle=True)
    valid = DataLoader(Subset(LeafData(x, y, False), order[cut:].tolist()), cfg["batch_size"])

    model = SeverityNet()
    if cfg["pretrained"] and os.path.exists(cfg["pretrained"]):
        model.encoder.load_state_dict(torch.load(cfg["pretrained"], map_location="cpu"))
    model.to(device)

    set_trainable(model.encoder, False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad],
                                  lr=cfg["lr_head"], weight_decay=cfg["weight_decay"])
    loss_fn = nn.BCEWithLogitsLoss()
    best = float("inf")

    for epoch in range(cfg["epochs"]):
        if epoch == cfg["freeze_epochs"]:
            unfreeze_encoder(model, optimizer, cfg)
        model.train()
        if epoch < cfg["freeze_epochs"]:
            model.encoder.eval()
        running = 0.0
        for xb, yb in train:
            xb, yb = xb.to(device), yb.to(device)
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
            running += loss.item()
        mae = validate(model, valid, device)
        print(f"[{epoch:02d}] loss {running / len(train):.4f}  val MAE {mae:.4f}")
        if mae < best:
            best = mae
            torch.save(model.state_dict(), cfg["out"])
    print("best MAE", best)


if __name__ == "__main__":
    main()
