"""Segment synthetic cells with a tiny U-Net; effective batch is built by accumulation."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CFG = dict(train=96, val=24, size=24, micro_batch=4, effective_batch=16, epochs=5, lr=0.1, momentum=0.9)


class Cells(Dataset):
    def __init__(self, n, size, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.items = []
        for _ in range(n):
            mask = torch.zeros(size, size, dtype=torch.bool)
            for _ in range(int(torch.randint(2, 6, (1,), generator=g))):
                cy, cx = torch.randint(4, size - 4, (2,), generator=g)
                r = int(torch.randint(2, 5, (1,), generator=g))
                mask |= (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
            img = mask.float() * 0.8 + 0.4 * torch.randn(size, size, generator=g)
            self.items.append((img[None], mask.long()))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w=12):
        super().__init__()
        self.d1, self.d2 = conv(1, w), conv(w, 2 * w)
        self.u1 = conv(3 * w, w)
        self.head = nn.Conv2d(w, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.u1(torch.cat([a, b], 1)))


def dice(logits, mask):
    pred = logits.argmax(1)
    inter = ((pred == 1) & (mask == 1)).sum().item()
    return 2 * inter / max(1, (pred == 1).sum().item() + (mask == 1).sum().item())


def train_epoch(net, loader, opt, accum):
    net.train()
    total = 0.0
    opt.zero_grad(set_to_none=True)
    for step, (img, mask) in enumerate(loader, 1):
        loss = F.cross_entropy(net(img), mask)
        total += loss.item()
        loss.backward()
        if step % accum == 0:
            opt.step()
            opt.zero_grad(set_to_none=True)
    return total / len(loader)


@torch.no_grad()
def validate(net, loader):
    net.eval()
    scores = [dice(net(img), mask) for img, mask in loader]
    return sum(scores) / len(scores)


def main():
    torch.manual_seed(0)
    accum = CFG["effective_batch"] // CFG["micro_batch"]
    train = DataLoader(Cells(CFG["train"], CFG["size"], 1), CFG["micro_batch"], shuffle=True)
    val = DataLoader(Cells(CFG["val"], CFG["size"], 2), 8)
    assert len(train) % accum == 0
    net = UNet()
    opt = torch.optim.SGD(net.parameters(), lr=CFG["lr"], momentum=CFG["momentum"])
    for epoch in range(CFG["epochs"]):
        loss = train_epoch(net, train, opt, accum)
        print(f"epoch {epoch} loss {loss:.4f} dice {validate(net, val):.3f}")


if __name__ == "__main__":
    main()
