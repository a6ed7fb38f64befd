import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

config = {
    "data": {"classes": 40, "per_class": int(os.environ.get("PER_CLASS", 60)), "image": 32},
    "model": {"width": 32, "embedding": 64},
    "loss": {"margin": 0.2},
    "train": {"epochs": int(os.environ.get("EPOCHS", 10)), "batch": 48, "lr": 1e-3, "weight_decay": 1e-4},
    "seed": 17,
}


class Glyphs(Dataset):
    """Triplets (anchor, positive, negative) of noisy class prototypes."""

    def __init__(self, classes, per_class, image, seed):
        g = torch.Generator().manual_seed(seed)
        low = torch.rand(classes, 1, image // 4, image // 4, generator=g)
        self.proto = F.interpolate(low, size=image, mode="bilinear")
        self.classes, self.per_class = classes, per_class

    def __len__(self):
        return self.classes * self.per_class

    def view(self, c, g):
        shift = torch.randint(-3, 4, (2,), generator=g).tolist()
        img = torch.roll(self.proto[c], shift, (1, 2))
        return img + 0.2 * torch.randn(img.shape, generator=g)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        c = i % self.classes
        other = (c + int(torch.randint(1, self.classes, (1,), generator=g))) % self.classes
        return self.view(c, g), self.view(c, g), self.view(other, g)


class EmbeddingNet(nn.Module):
    def __init__(self, width, embedding):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(), nn.MaxPool2d(2))
        self.features = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 4 * width))
        self.proj = nn.Linear(4 * width, embedding)

    def forward(self, x):
        return F.normalize(self.proj(self.features(x).mean((2, 3))), dim=-1)


def triplet_loss(a, p, n, margin):
    return F.relu((a - p).pow(2).sum(1) - (a - n).pow(2).sum(1) + margin).mean()


class TripletTrainer:
    def __init__(self, cfg, rank, world, device):
        self.cfg, self.rank, self.world, self.device = cfg, rank, world, device
        d = cfg["data"]
        data = Glyphs(d["classes"], d["per_class"], d["image"], cfg["seed"])
        self.sampler = DistributedSampler(data, world, rank, shuffle=True, seed=cfg["seed"], drop_last=True)
        self.loader = DataLoader(data, cfg["train"]["batch"], sampler=self.sampler, drop_last=True)
        self.net = EmbeddingNet(**cfg["model"]).to(device)
        self.ddp = DistributedDataParallel(self.net, device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.AdamW(self.ddp.parameters(), lr=cfg["train"]["lr"],
                                     weight_decay=cfg["train"]["weight_decay"])
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, cfg["train"]["epochs"])

    def embed(self, *images):
        # one forward for the three branches
        z = self.ddp(torch.cat([i.to(self.device) for i in images]))
        return z.chunk(len(images))

    def run_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.ddp.train()
        stat = torch.zeros(2, device=self.device)
        for a, p, n in self.loader:
            loss = triplet_loss(*self.embed(a, p, n), self.cfg["loss"]["margin"])
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            stat += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
        self.sched.step()
        dist.all_reduce(stat)
        return (stat[0] / stat[1].clamp(min=1)).item()

    def fit(self):
        for epoch in range(self.cfg["train"]["epochs"]):
            loss = self.run_epoch(epoch)
            if self.rank == 0:
                logging.info("epoch %d triplet loss %.4f", epoch, loss)
                torch.save({"net": self.net.state_dict(), "epoch": epoch}, "embedding.pt")


def main():
    logging.basicConfig(level=logging.INFO)
    for k, v in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": "29544"}.items():
        os.environ.setdefault(k, v)
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(minutes=10))
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(config["seed"])
    TripletTrainer(config, dist.get_rank(), dist.get_world_size(), device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
