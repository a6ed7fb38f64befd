"""Binary segmentation of synthetic blobs with a tiny U-Net and gradient accumulation."""
import logging
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("seg")


@dataclass
class Config:
    n_train: int = 96
    size: int = 32
    micro_batch: int = 4
    accum: int = 4
    epochs: int = 2
    lr: float = 1e-3
    clip: float = 1.0


class Blobs(Dataset):
    def __init__(self, n, size):
        g = torch.Generator().manual_seed(0)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.items = []
        for _ in range(n):
            cy, cx = torch.randint(8, size - 8, (2,), generator=g)
            r = torch.randint(3, 8, (1,), generator=g)
            mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).float()
            img = mask + 0.5 * torch.randn(size, size, generator=g)
            self.items.append((img[None], mask[None]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def conv(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = conv(1, 16), conv(16, 32), conv(32, 32)
        self.u1, self.u2 = conv(64, 16), conv(32, 16)
        self.head = nn.Conv2d(16, 1, 1)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.mid(self.pool(b))
        y = self.u1(torch.cat([self.up(c), b], 1))
        y = self.u2(torch.cat([self.up(y), a], 1))
        return self.head(y)


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    inter = (p * t).sum(1)
    return (1 - (2 * inter + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


def main(cfg: Config):
    torch.manual_seed(0)
    loader = DataLoader(Blobs(cfg.n_train, cfg.size), batch_size=cfg.micro_batch, shuffle=True, drop_last=True)
    assert len(loader) % cfg.accum == 0
    net = UNet()
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(cfg.epochs):
        running = 0.0
        opt.zero_grad()
        for step, (img, mask) in enumerate(loader, 1):
            logits = net(img)
            loss = bce(logits, mask) + dice_loss(logits, mask)
            (loss / cfg.accum).backward()
            nn.utils.clip_grad_norm_(net.parameters(), cfg.clip)
            running += loss.item()
            if step % cfg.accum == 0:
                opt.step()
                opt.zero_grad()
        log.info("epoch %d loss %.4f", epoch, running / len(loader))
    torch.save(net.state_dict(), "unet.pt")


if __name__ == "__main__":
    main(Config())
