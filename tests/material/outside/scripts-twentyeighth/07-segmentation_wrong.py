"""Binary segmentation of blobs. The encoder is pretrained as a blob counter, kept fixed
(weights and BatchNorm statistics) for the first epochs and fine-tuned after that."""
import argparse
import logging
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger(__name__)


def make_blobs(n, seed, noise=0.4, gain=1.0, size=24):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    masks = torch.zeros(n, size, size)
    counts = torch.randint(0, 4, (n,), generator=g)
    for i in range(n):
        for _ in range(int(counts[i])):
            cy, cx, r = torch.randint(4, size - 4, (2,), generator=g).tolist() + [int(torch.randint(2, 5, (1,), generator=g))]
            masks[i][(yy - cy) ** 2 + (xx - cx) ** 2 <= r * r] = 1
    images = gain * masks + noise * torch.randn(n, size, size, generator=g)
    return images.unsqueeze(1), masks.unsqueeze(1), counts


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Encoder(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.stem, self.down = conv_bn(1, w), conv_bn(w, 2 * w, 2)

    def forward(self, x):
        a = self.stem(x)
        return a, self.down(a)


class SegNet(nn.Module):
    def __init__(self, encoder, w=8):
        super().__init__()
        self.encoder = encoder
        self.mid, self.fuse = conv_bn(2 * w, 2 * w), conv_bn(3 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a, b = self.encoder(x)
        b = F.interpolate(self.mid(b), scale_factor=2, mode="nearest")
        return self.out(self.fuse(torch.cat([a, b], 1)))


def dice_bce(logits, target):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    dice = 1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, target) + dice.mean()


def pretrain(encoder, device, steps):
    images, _, counts = make_blobs(256, seed=11)
    head = nn.Linear(16, 4).to(device)
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
    encoder.train()
    for _ in range(steps):
        idx = torch.randint(0, len(images), (32,))
        logits = head(encoder(images[idx].to(device))[1].mean((2, 3)))
        loss = F.cross_entropy(logits, counts[idx].to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    logger.info("encoder pretrained, loss %.3f", loss.item())


@torch.no_grad()
def mean_iou(model, loader, device):
    model.eval()
    inter = union = 0.0
    for x, y in loader:
        pred = model(x.to(device)) > 0
        y = y.to(device) > 0.5
        inter += (pred & y).sum().item()
        union += (pred | y).sum().item()
    return inter / max(union, 1)


def train_epoch(model, loader, optimizer, scaler, device, encoder_frozen):
    if encoder_frozen:
        model.encoder.eval()
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        with torch.autocast(device, enabled=scaler.is_enabled()):
            logits = model(x)
        loss = dice_bce(logits.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total / len(loader)


def main(args):
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    args.output.mkdir(parents=True, exist_ok=True)

    encoder = Encoder().to(device)
    pretrain(encoder, device, args.pretrain_steps)

    images, masks, _ = make_blobs(192, seed=1, noise=0.6, gain=1.5)
    vi, vm, _ = make_blobs(64, seed=2, noise=0.6, gain=1.5)
    loader = DataLoader(TensorDataset(images, masks), args.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(vi, vm), 64)

    model = SegNet(encoder).to(device)
    encoder_params = list(model.encoder.parameters())
    ids = {id(p) for p in encoder_params}
    other = [p for p in model.parameters() if id(p) not in ids]
    optimizer = torch.optim.AdamW([{"params": other, "lr": args.lr}, {"params": encoder_params, "lr": args.lr * 0.1}])
    scaler = torch.amp.GradScaler(device, enabled=device == "cuda")

    for epoch in range(args.epochs):
        frozen = epoch < args.freeze_epochs
        for p in encoder_params:
            p.requires_grad_(not frozen)
        loss = train_epoch(model, loader, optimizer, scaler, device, frozen)
        iou = mean_iou(model, val_loader, device)
        logger.info("epoch %d loss %.4f iou %.3f %s", epoch, loss, iou, "(encoder frozen)" if frozen else "")
        torch.save({"model": model.state_dict(), "epoch": epoch, "iou": iou}, args.output / f"epoch{epoch}.pt")
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--freeze-epochs", type=int, default=2)
    parser.add_argument("--pretrain-steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
