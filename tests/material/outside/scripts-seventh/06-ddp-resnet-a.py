"""Data-parallel image classification.

    torchrun --standalone --nproc_per_node=2 ddp_resnet.py

Works with gloo on CPU and nccl on GPU. Batch size is per rank; the learning rate given is
for a total batch of 256 and is scaled linearly.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Shapes(Dataset):
    """Procedural 32x32 images: squares, discs, crosses, stripes."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(4, (n,), generator=g)
        self.centre = torch.randint(10, 22, (n, 2), generator=g)
        self.size = torch.randint(4, 9, (n,), generator=g)
        self.noise_seed = torch.randint(1 << 30, (n,), generator=g)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(int(self.noise_seed[i]))
        yy, xx = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
        cy, cx = self.centre[i]
        s = int(self.size[i])
        dy, dx = yy - cy, xx - cx
        inside = (dy.abs() <= s) & (dx.abs() <= s)
        k = int(self.label[i])
        if k == 1:
            inside = dy ** 2 + dx ** 2 <= s ** 2
        elif k == 2:
            inside = inside & ((dy.abs() < 2) | (dx.abs() < 2))
        elif k == 3:
            inside = inside & (dy % 3 == 0)
        colour = torch.rand(3, 1, 1, generator=g)
        img = inside.float() * colour + 0.3 * torch.randn(3, 32, 32, generator=g)
        return img, self.label[i]


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(cout)
        self.c2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(cout)
        self.short = nn.Sequential()
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        return F.relu(self.b2(self.c2(y)) + self.short(x))


def resnet(width=16, classes=4):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        BasicBlock(width, width, 1), BasicBlock(width, 2 * width, 2), BasicBlock(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes),
    )


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        local = int(os.environ.get("LOCAL_RANK", 0))
        self.device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
        torch.manual_seed(args.seed + self.rank)

        train, val = Shapes(args.n_train, 1), Shapes(args.n_val, 2)
        self.sampler = DistributedSampler(train, shuffle=True, seed=args.seed)
        self.train_loader = DataLoader(train, args.batch_size, sampler=self.sampler, drop_last=True)
        self.val_loader = DataLoader(val, 256, sampler=range(self.rank, len(val), self.world))

        # net is kept for evaluation and saving, model is the wrapped one
        self.net = resnet().to(self.device)
        self.model = DistributedDataParallel(
            self.net, device_ids=[local] if self.device.type == "cuda" else None)

        lr = args.lr * args.batch_size * self.world / 256
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
        steps = args.epochs * len(self.train_loader)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=lr, total_steps=steps)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.net.train()
        total = torch.zeros(2, device=self.device)
        for x, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            logits = self.model(x)
            loss = F.cross_entropy(logits, y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            total += torch.tensor([loss.item() * len(y), len(y)], device=self.device)
        dist.all_reduce(total)
        return (total[0] / total[1]).item()

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        hits = torch.zeros(2, device=self.device)
        for x, y in self.val_loader:
            x, y = x.to(self.device), y.to(self.device)
            hits += torch.stack([(self.net(x).argmax(1) == y).sum(), torch.tensor(len(y), device=self.device)]).float()
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def run(self):
        for epoch in range(self.args.epochs):
            loss = self.train_epoch(epoch)
            acc = self.evaluate()
            if self.rank == 0:
                print(f"epoch {epoch}: loss {loss:.4f} acc {acc:.4f}", flush=True)
                torch.save(self.net.state_dict(), self.args.out)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--n-train", type=int, default=8192)
    ap.add_argument("--n-val", type=int, default=1024)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="resnet_ddp.pt")
    args = ap.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        Trainer(args).run()
    finally:
        dist.destroy_process_group()
