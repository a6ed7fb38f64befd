"""Name tagging (token<TAB>tag, blank line between sentences), data parallel.

    torchrun --standalone --nproc_per_node 2 tagger.py --data data/names.tsv
    torchrun --standalone --nproc_per_node 2 tagger.py --data data/names.tsv --resume data/tagger_last.pt
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

IGNORE = -100


def read_sentences(path):
    sent, out = [], []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line:
            sent.append(tuple(line.split("\t")))
        elif sent:
            out.append(sent)
            sent = []
    if sent:
        out.append(sent)
    return out


class Collate:
    def __init__(self, sentences):
        self.words = {w: i + 2 for i, w in enumerate(sorted({w.lower() for s in sentences for w, _ in s}))}
        self.tags = {t: i for i, t in enumerate(sorted({t for s in sentences for _, t in s}))}

    def __call__(self, batch):
        length = max(map(len, batch))
        x = torch.zeros(len(batch), length, dtype=torch.long)
        y = torch.full((len(batch), length), IGNORE)
        for i, s in enumerate(batch):
            for j, (w, t) in enumerate(s):
                x[i, j] = self.words.get(w.lower(), 1)
                y[i, j] = self.tags[t]
        return x, y


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, dim=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, n_tags)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def setup():
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29655")
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def load_checkpoint(path, model, optimizer, scheduler):
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    scheduler.load_state_dict(ckpt["scheduler"])


def save_checkpoint(path, model, optimizer, scheduler, epoch):
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "epoch": epoch,
        },
        path,
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/names.tsv")
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--stop-after", type=int, default=0)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--resume", default="")
    ap.add_argument("--save", default="")
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    rank, world = setup()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    sentences = read_sentences(args.data)
    collate = Collate(sentences)
    cut = int(0.85 * len(sentences))
    train, val = sentences[:cut], sentences[cut:]
    sampler = DistributedSampler(train, world, rank, shuffle=True, seed=args.seed)
    loader = DataLoader(train, args.batch_size, sampler=sampler, collate_fn=collate)

    net = Tagger(len(collate.words) + 2, len(collate.tags))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)

    start = torch.zeros(1, dtype=torch.long)
    if args.resume:
        load_checkpoint(args.resume, net, optimizer, scheduler)
        start += torch.load(args.resume, map_location="cpu")["epoch"] + 1
    dist.broadcast(start, 0)
    model = DDP(net)

    for epoch in range(int(start), args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(())
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=IGNORE)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            total += loss.detach()
        scheduler.step()
        dist.all_reduce(total)
        if rank == 0:
            net.eval()
            with torch.no_grad():
                x, y = collate(val)
                hit = net(x).argmax(-1) == y
            acc = hit[y != IGNORE].float().mean().item()
            print(f"epoch {epoch} loss {total.item() / world / len(loader):.4f} acc {acc:.3f} lr {scheduler.get_last_lr()[0]:.2e}", flush=True)
            if args.save:
                save_checkpoint(args.save, net, optimizer, scheduler, epoch)
        dist.barrier()
        if args.stop_after and epoch + 1 >= args.stop_after:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
