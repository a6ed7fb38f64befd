import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("unet")


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, cin=3, classes=3, width=32):
        super().__init__()
        w = width
        self.d1, self.d2, self.d3 = conv_block(cin, w), conv_block(w, 2 * w), conv_block(2 * w, 4 * w)
        self.mid = conv_block(4 * w, 8 * w)
        self.u3, self.u2, self.u1 = (nn.ConvTranspose2d(8 * w, 4 * w, 2, 2),
                                     nn.ConvTranspose2d(4 * w, 2 * w, 2, 2),
                                     nn.ConvTranspose2d(2 * w, w, 2, 2))
        self.c3, self.c2, self.c1 = conv_block(8 * w, 4 * w), conv_block(4 * w, 2 * w), conv_block(2 * w, w)
        self.out = nn.Conv2d(w, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        m = self.mid(F.max_pool2d(c, 2))
        x = self.c3(torch.cat([self.u3(m), c], 1))
        x = self.c2(torch.cat([self.u2(x), b], 1))
        x = self.c1(torch.cat([self.u1(x), a], 1))
        return self.out(x)


class Blobs(Dataset):
    """Discs (1) and squares (2) on noise."""

    def __init__(self, n, size, seed):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100003 + i)
        s = self.size
        img = torch.rand(3, s, s, generator=g) * 0.5
        mask = torch.zeros(s, s, dtype=torch.long)
        yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
        for cls in (1, 2):
            cy, cx = torch.randint(s // 4, 3 * s // 4, (2,), generator=g).tolist()
            r = int(torch.randint(s // 10 + 1, s // 5 + 2, (1,), generator=g))
            if cls == 1:
                region = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
            else:
                region = ((yy - cy).abs() <= r) & ((xx - cx).abs() <= r)
            mask[region] = cls
            img[:, region] += torch.rand(3, 1, generator=g) * 0.5
        return img, mask


def dice_loss(logits, target, eps=1.0):
    prob = logits.float().softmax(1)
    onehot = F.one_hot(target, logits.size(1)).permute(0, 3, 1, 2).float()
    inter = (prob * onehot).sum((0, 2, 3))
    denom = prob.sum((0, 2, 3)) + onehot.sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (denom + eps)).mean()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hit = tot = 0
    for img, mask in loader:
        pred = model(img.to(device)).argmax(1).cpu()
        hit += (pred == mask).sum().item()
        tot += mask.numel()
    return hit / tot


def train(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = args.amp and device.type == "cuda"
    train_dl = DataLoader(Blobs(args.samples, args.size, 1), batch_size=args.batch_size, shuffle=True,
                          num_workers=args.workers, drop_last=True)
    val_dl = DataLoader(Blobs(max(8, args.samples // 10), args.size, 2), batch_size=args.batch_size)

    net = UNet(width=args.width).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

    for epoch in range(args.epochs):
        net.train()
        running = 0.0
        for img, mask in train_dl:
            img, mask = img.to(device, non_blocking=True), mask.to(device, non_blocking=True)
            opt.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
                logits = net(img)
                loss = F.cross_entropy(logits, mask) + dice_loss(logits, mask)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            scaler.step(opt)
            scaler.update()
            running += loss.item()
        sched.step()
        log.info("epoch %d loss %.4f pixel acc %.4f", epoch, running / len(train_dl),
                 evaluate(net, val_dl, device))
    torch.save(net.state_dict(), args.out)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--samples", type=int, default=1000)
    p.add_argument("--size", type=int, default=96)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=1.0, help="max global gradient norm")
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--no-amp", dest="amp", action="store_false")
    p.add_argument("--out", default="unet.pt")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    train(p.parse_args())
