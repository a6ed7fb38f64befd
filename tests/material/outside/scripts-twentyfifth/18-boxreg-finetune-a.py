"""Single object localisation: pretrain a backbone on patches, then fine-tune class + box heads.

The backbone is frozen for the first epochs of fine-tuning and then released.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def render(n, size, seed, full_frame=False):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    label = torch.randint(3, (n,), generator=g)
    hw = 0.12 * size + 0.12 * size * torch.rand(n, 2, generator=g)
    if full_frame:
        center = torch.full((n, 2), size / 2.0)
        hw = hw + 0.1 * size
    else:
        center = hw + 1 + torch.rand(n, 2, generator=g) * (size - 2 * hw - 2)
    dx = (xx - center[:, :1, None]) / hw[:, :1, None]
    dy = (yy - center[:, 1:, None]) / hw[:, 1:, None]
    box = ((dx.abs() < 1) & (dy.abs() < 1)).float()
    disc = (dx ** 2 + dy ** 2 < 1).float()
    cross = ((dx.abs() < 0.35) | (dy.abs() < 0.35)).float() * box
    img = torch.stack([box, disc, cross], 1)[torch.arange(n), label]
    img = img * (0.6 + 0.4 * torch.rand(n, 1, 1, generator=g)) + 0.25 * torch.randn(n, size, size, generator=g)
    target = torch.cat([center, 2 * hw], 1) / size
    return img.unsqueeze(1), label, target


def make_backbone(width=16):
    def block(i, o):
        return [nn.Conv2d(i, o, 3, 2, 1), nn.GroupNorm(4, o), nn.ReLU()]
    return nn.Sequential(*block(1, width), *block(width, 2 * width), *block(2 * width, 2 * width))


class Localizer(nn.Module):
    def __init__(self, backbone, channels=32, classes=3):
        super().__init__()
        self.backbone = backbone
        self.neck = nn.Sequential(nn.Conv2d(channels, 8, 1), nn.ReLU(), nn.Flatten())
        self.cls_head = nn.Linear(8 * 16, classes)
        self.box_head = nn.Linear(8 * 16, 4)

    def forward(self, x):
        h = self.neck(self.backbone(x))
        return self.cls_head(h), self.box_head(h).sigmoid()


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter)


def pretrain_backbone(epochs, seed):
    x, y, _ = render(1024, 32, seed, full_frame=True)
    backbone = make_backbone()
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 3))
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=2e-3)
    for epoch in range(epochs):
        for xb, yb in DataLoader(TensorDataset(x, y), 64, shuffle=True):
            loss = F.cross_entropy(head(backbone(xb)), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"pretrained backbone, last loss {loss.item():.3f}")
    return backbone


class FineTuner:
    def __init__(self, model, lr, backbone_lr, box_weight):
        self.model, self.box_weight, self.backbone_lr = model, box_weight, backbone_lr
        for p in model.backbone.parameters():
            p.requires_grad_(False)
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=lr, weight_decay=1e-4)

    def unfreeze(self):
        for p in self.model.backbone.parameters():
            p.requires_grad_(True)
        self.optimizer.add_param_group({"params": list(self.model.backbone.parameters()), "lr": self.backbone_lr})
        n = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        print(f"backbone released, {n} trainable parameters")

    def loss(self, x, y, box):
        logits, pred = self.model(x)
        return F.cross_entropy(logits, y) + self.box_weight * F.smooth_l1_loss(pred, box, beta=0.05)

    def fit(self, train_set, val_set, epochs, freeze_epochs, batch_size):
        loader = DataLoader(train_set, batch_size, shuffle=True, drop_last=True)
        for epoch in range(epochs):
            if epoch == freeze_epochs:
                self.unfreeze()
            self.model.train()
            total = 0.0
            for x, y, box in loader:
                loss = self.loss(x, y, box)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.optimizer.step()
                total += loss.item()
            acc, miou = self.evaluate(val_set)
            print(f"epoch {epoch:2d} loss {total / len(loader):.4f} val acc {acc:.3f} mean IoU {miou:.3f}")

    @torch.no_grad()
    def evaluate(self, ds):
        self.model.eval()
        x, y, box = ds.tensors
        logits, pred = self.model(x)
        return (logits.argmax(1) == y).float().mean().item(), iou(pred, box).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--freeze-epochs", type=int, default=4)
    ap.add_argument("--pretrain-epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--backbone-lr", type=float, default=1e-3)
    ap.add_argument("--box-weight", type=float, default=4.0)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    backbone = pretrain_backbone(args.pretrain_epochs, args.seed + 1)
    model = Localizer(backbone)
    tuner = FineTuner(model, args.lr, args.backbone_lr, args.box_weight)
    tuner.fit(TensorDataset(*render(1536, 32, 2)), TensorDataset(*render(512, 32, 3)),
              args.epochs, args.freeze_epochs, batch_size=48)
    torch.save(model.state_dict(), "localizer.pt")


if __name__ == "__main__":
    main()
