"""Linear-probe style fine-tuning: a pretrained conv backbone stays frozen, a new head is trained.

The checkpoint is a plain state dict; the data file holds {"images": uint8 NCHW, "labels": long}.
"""
import argparse
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def conv_bn(cin, cout):
    return [nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()]


class Backbone(nn.Module):
    out_features = 32

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(*conv_bn(1, 12), nn.MaxPool2d(2))
        self.layer1 = nn.Sequential(*conv_bn(12, 24), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(*conv_bn(24, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.layer2(self.layer1(self.stem(x)))


class FineTuner(nn.Module):
    def __init__(self, backbone, num_classes, hidden=48, dropout=0.1):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(
            nn.Linear(backbone.out_features, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, num_classes)
        )

    def freeze_backbone(self):
        self.backbone.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()  # keep the pretrained batch-norm statistics
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def load_data(path):
    blob = torch.load(path, weights_only=True)
    x = (blob["images"].float() - 128) / 40
    return x, blob["labels"]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def parse_args(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--weights", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--batch-size", type=int, default=32)
    return p.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    x, y = load_data(args.data)
    n_val = len(x) // 5
    x_val, y_val = x[:n_val].to(device), y[:n_val].to(device)
    loader = DataLoader(TensorDataset(x[n_val:], y[n_val:]), batch_size=args.batch_size, shuffle=True)

    backbone = Backbone()
    backbone.load_state_dict(torch.load(args.weights, map_location="cpu", weights_only=True))
    model = FineTuner(backbone, num_classes=int(y.max()) + 1).to(device)
    model.freeze_backbone()

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, epochs=args.epochs, steps_per_epoch=len(loader)
    )

    for epoch in range(args.epochs):
        model.train()
        losses = []
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb.to(device)), yb.to(device))
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1:2d}  loss {sum(losses) / len(losses):.4f}  val acc {accuracy(model, x_val, y_val):.3f}")

    return model


if __name__ == "__main__":
    main(sys.argv[1:])
