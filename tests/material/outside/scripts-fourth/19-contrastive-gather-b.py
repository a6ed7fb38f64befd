"""CLIP-style contrastive training of two towers, negatives shared over all ranks.

torchrun --nproc_per_node=8 train_clip.py --data pairs.pt
`pairs.pt` holds {"image": (N, Di), "text": (N, Dt)} precomputed features.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class GatherLayer(torch.autograd.Function):
    """all_gather that lets the gradient through to every rank"""

    @staticmethod
    def forward(ctx, x):
        out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(out, x.contiguous())
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        return grads[dist.get_rank()]


def gather(x):
    if not dist.is_initialized():
        return x
    return torch.cat(GatherLayer.apply(x), dim=0)


class Pairs(Dataset):
    def __init__(self, path):
        blob = torch.load(path)
        self.image, self.text = blob["image"].float(), blob["text"].float()
        assert len(self.image) == len(self.text)

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return self.image[i], self.text[i]


class Tower(nn.Module):
    def __init__(self, din, dim, hidden=512):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(din, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class DualEncoder(nn.Module):
    def __init__(self, d_img, d_txt, dim=256):
        super().__init__()
        self.image, self.text = Tower(d_img, dim), Tower(d_txt, dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))  # ln(1 / 0.07)

    def forward(self, img, txt):
        return self.image(img), self.text(txt), self.logit_scale.exp()


def clip_loss(zi, zt, scale):
    """local rows against the columns of all ranks"""
    all_i, all_t = gather(zi), gather(zt)
    rank = dist.get_rank() if dist.is_initialized() else 0
    labels = torch.arange(zi.size(0), device=zi.device) + rank * zi.size(0)
    logits_i = scale * zi @ all_t.t()
    logits_t = scale * zt @ all_i.t()
    return 0.5 * (F.cross_entropy(logits_i, labels) + F.cross_entropy(logits_t, labels))


def setup():
    if "RANK" not in os.environ:
        return 0, 1, torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    local = int(os.environ["LOCAL_RANK"])
    if use_cuda:
        torch.cuda.set_device(local)
    return dist.get_rank(), dist.get_world_size(), torch.device("cuda", local) if use_cuda else torch.device("cpu")


@torch.no_grad()
def recall_at_1(model, data, device, n=512):
    model.eval()
    zi, zt, _ = model(data.image[:n].to(device), data.text[:n].to(device))
    hit = ((zi @ zt.t()).argmax(1).cpu() == torch.arange(zi.size(0))).float().mean().item()
    model.train()
    return hit


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch", type=int, default=256, help="per rank")
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--wd", type=float, default=0.1)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--out", default="clip.pt")
    args = ap.parse_args()

    rank, world, device = setup()
    torch.manual_seed(0)
    data = Pairs(args.data)
    model = DualEncoder(data.image.size(1), data.text.size(1), args.dim).to(device)
    net = model
    if world > 1:
        net = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    sampler = DistributedSampler(data, drop_last=True) if world > 1 else None
    loader = DataLoader(data, args.batch, sampler=sampler, shuffle=sampler is None, drop_last=True)

    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": args.wd},
                                   {"params": rest, "weight_decay": 0.0}], lr=args.lr, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))

    for epoch in range(args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        net.train()
        for step, (img, txt) in enumerate(loader):
            zi, zt, scale = net(img.to(device), txt.to(device))
            loss = clip_loss(zi, zt, scale)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            with torch.no_grad():
                model.logit_scale.clamp_(0, 4.6052)
            if rank == 0 and step % 50 == 0:
                print(f"epoch {epoch} step {step}/{len(loader)} loss {loss.item():.4f} scale {scale.item():.2f}")
        if rank == 0:
            print(f"epoch {epoch} R@1 {recall_at_1(model, data, device):.4f}")
            torch.save(model.state_dict(), args.out)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
