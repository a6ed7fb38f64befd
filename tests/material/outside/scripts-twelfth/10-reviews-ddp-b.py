"""torchrun --nproc_per_node=4 reviews_ddp.py --train data/reviews.jsonl"""
import argparse
import json
import logging
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

logger = logging.getLogger("reviews")


class Reviews(Dataset):
    def __init__(self, path, vocab=None, max_len=64):
        self.rows = [json.loads(line) for line in open(path)]
        self.labels = {"neg": 0, "pos": 1}
        if vocab is None:
            words = sorted({w for r in self.rows for w in r["text"].lower().split()})
            vocab = {w: i + 1 for i, w in enumerate(words)}
        self.vocab, self.max_len = vocab, max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = [self.vocab.get(w, 0) for w in self.rows[i]["text"].lower().split()][: self.max_len]
        return torch.tensor(ids or [0]), self.labels[self.rows[i]["label"]]


def collate(batch):
    ids, labels = zip(*batch)
    padded = nn.utils.rnn.pad_sequence(ids, batch_first=True)
    return padded, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Embedding(64, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.cls = nn.Linear(dim, 2)

    def forward(self, ids):
        pad = ids == 0
        pad[:, 0] = False
        x = self.embed(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        h = self.encoder(x, src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        return self.cls((h * keep).sum(1) / keep.sum(1))


def setup():
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="data/reviews.jsonl")
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--log-every", type=int, default=10)
    ap.add_argument("--out", default="reviews.pt")
    args = ap.parse_args()

    device = setup()
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    torch.manual_seed(1234)

    ds = Reviews(args.train)
    sampler = DistributedSampler(ds, shuffle=True, seed=17)
    loader = DataLoader(ds, args.batch_size, sampler=sampler, collate_fn=collate)
    model = DDP(
        Classifier(len(ds.vocab) + 1).to(device),
        device_ids=[device.index] if device.type == "cuda" else None,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, total_iters=total)
    criterion = nn.CrossEntropyLoss()

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for ids, labels in loader:
            ids, labels = ids.to(device), labels.to(device)
            loss = criterion(model(ids), labels)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            if rank == 0 and step % args.log_every == 0:
                logger.info("step %d loss %.4f grad norm %.3f", step, loss.item(), norm)
            optimizer.step()
            scheduler.step()
            step += 1
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "vocab": ds.vocab}, args.out)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
