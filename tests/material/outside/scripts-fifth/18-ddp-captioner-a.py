"""torchrun --nproc_per_node=N train.py"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class ColourShapes(Dataset):
    """Images of coloured bars with a 'caption' (sequence of the colours from left to right)."""

    def __init__(self, n, bars=5, size=40, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.codes = torch.randint(0, 6, (n, bars), generator=g)
        self.palette = torch.rand(6, 3, generator=torch.Generator().manual_seed(1))
        self.size, self.bars, self.seed = size, bars, seed

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + 7919 * i)
        img = self.palette[self.codes[i]].t().repeat_interleave(self.size // self.bars, 1)
        img = img.unsqueeze(1).expand(3, self.size, -1)
        return img + 0.15 * torch.randn(img.shape, generator=g), self.codes[i]


class Captioner(nn.Module):
    def __init__(self, dim=128, vocab=7):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                                 nn.Conv2d(64, dim, 3, 2, 1), nn.ReLU())
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        layer = nn.TransformerDecoderLayer(dim, 4, 4 * dim, 0.1, batch_first=True, norm_first=True)
        self.dec = nn.TransformerDecoder(layer, 2)
        self.out = nn.Linear(dim, vocab - 1)

    def forward(self, img, tokens):
        mem = self.cnn(img).flatten(2).transpose(1, 2)
        mem = mem + self.pos[:, :1] if mem.size(1) > 32 else mem + self.pos[:, :mem.size(1)]
        start = torch.full_like(tokens[:, :1], 6)
        tgt = self.emb(torch.cat([start, tokens[:, :-1]], 1)) + self.pos[:, :tokens.size(1)]
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1), device=img.device)
        return self.out(self.dec(tgt, mem, tgt_mask=mask))


def setup():
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local)
    return dist.get_rank(), dist.get_world_size(), torch.device("cuda", local) if cuda else torch.device("cpu")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=6000)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-4)
    args = ap.parse_args()
    rank, world, device = setup()
    torch.manual_seed(0)
    model = DDP(Captioner().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    torch.manual_seed(100 + rank)
    data = ColourShapes(args.samples)
    sampler = DistributedSampler(data, world, rank, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    usable = len(loader) // args.accum * args.accum

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        opt.zero_grad()
        total = torch.zeros((), device=device)
        for i, (img, codes) in enumerate(loader):
            if i >= usable:
                break
            img, codes = img.to(device), codes.to(device)
            boundary = (i + 1) % args.accum == 0
            ctx = model.no_sync() if boundary else contextlib.nullcontext()
            with ctx:
                loss = F.cross_entropy(model(img, codes).flatten(0, 1), codes.flatten())
                (loss / args.accum).backward()
            total += loss.detach()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / world / max(1, usable):.4f}", flush=True)
            torch.save(model.module.state_dict(), "captioner.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
