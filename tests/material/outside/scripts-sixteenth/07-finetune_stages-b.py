"""Two-stage fine-tuning: linear probe first, then the whole network with a lower
learning rate for the pretrained encoder.

  python 07-finetune_stages.py --config data/finetune.json
"""
import argparse
import json

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from encoder import load_encoder


class Classifier(nn.Module):
    def __init__(self, encoder, n_classes):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.dim, n_classes)

    def forward(self, x):
        return self.head(self.encoder(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def trainable(module):
    return [p for p in module.parameters() if p.requires_grad]


def make_optimizer(model, cfg):
    return torch.optim.AdamW(trainable(model), lr=cfg["head_lr"], weight_decay=cfg["weight_decay"])


def unfreeze_encoder(model, optimizer, cfg):
    set_trainable(model.encoder, True)
    n = sum(p.numel() for p in trainable(model))
    print(f"encoder unfrozen, {n} trainable parameters")


def batches(x, y, bs):
    for idx in torch.randperm(len(x)).split(bs):
        yield x[idx], y[idx]


def run_epoch(model, optimizer, x, y, cfg):
    model.train()
    total = 0.0
    for xb, yb in batches(x, y, cfg["batch_size"]):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb, label_smoothing=cfg["label_smoothing"])
        loss.backward()
        nn.utils.clip_grad_norm_(trainable(model), cfg["clip"])
        optimizer.step()
        total += loss.item() * len(xb)
    return total / len(x)


@torch.no_grad()
def test(model, x, y):
    model.eval()
    return (model(x).argmax(-1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="data/finetune.json")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)

    z = np.load(cfg["images"])
    x = torch.from_numpy(z["images"]).float().unsqueeze(1) / 255
    y = torch.from_numpy(z["labels"])
    n = cfg["train_size"]

    model = Classifier(load_encoder(cfg["encoder"]), 10)
    set_trainable(model.encoder, False)
    optimizer = make_optimizer(model, cfg)
    for epoch in range(cfg["epochs"]):
        if epoch == cfg["unfreeze_at"]:
            unfreeze_encoder(model, optimizer, cfg)
        loss = run_epoch(model, optimizer, x[:n], y[:n], cfg)
        print(f"epoch {epoch}  loss {loss:.4f}  test acc {test(model, x[n:], y[n:]):.3f}")


if __name__ == "__main__":
    main()
