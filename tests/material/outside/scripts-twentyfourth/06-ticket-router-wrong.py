# Routes support tickets to queues. Expects tickets.jsonl with {"subject": ..., "body": ..., "queue": ...}
import json
import re
import sys
from collections import Counter

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader

TOKEN = re.compile(r"[a-z0-9']+")
MAX_VOCAB = 20000
EPOCHS = 6
BATCH = 32
MAX_LR = 5e-3


def tokenize(s):
    return TOKEN.findall(s.lower())


def read_jsonl(path):
    rows = []
    with open(path) as f:
        for line in f:
            line = line.strip()
            if not line:
                continue
            r = json.loads(line)
            rows.append((tokenize(r.get("subject", "") + " " + r["body"]), r["queue"]))
    return rows


class Vocab:
    def __init__(self, docs, max_size=MAX_VOCAB, min_freq=2):
        c = Counter(t for d in docs for t in d)
        keep = [t for t, n in c.most_common(max_size) if n >= min_freq]
        self.stoi = {"<unk>": 0, **{t: i + 1 for i, t in enumerate(keep)}}

    def __len__(self):
        return len(self.stoi)

    def encode(self, doc):
        return [self.stoi.get(t, 0) for t in doc] or [0]


class Router(nn.Module):
    def __init__(self, vocab_size, n_queues, dim=64):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, dim, mode="mean")
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, n_queues))

    def forward(self, flat, offsets):
        return self.mlp(self.bag(flat, offsets))


def collate(batch):
    flat, offsets, labels = [], [], []
    for ids, y in batch:
        offsets.append(len(flat))
        flat.extend(ids)
        labels.append(y)
    return torch.tensor(flat), torch.tensor(offsets), torch.tensor(labels)


def evaluate(model, loader, device):
    model.eval()
    ok = tot = 0
    with torch.no_grad():
        for flat, off, y in loader:
            ok += (model(flat.to(device), off.to(device)).argmax(-1).cpu() == y).sum().item()
            tot += y.numel()
    return ok / tot


def main(path, out="router.pt"):
    torch.manual_seed(13)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")

    rows = read_jsonl(path)
    queues = sorted({q for _, q in rows})
    perm = torch.randperm(len(rows)).tolist()
    cut = int(len(rows) * 0.85)
    train_rows = [rows[i] for i in perm[:cut]]
    test_rows = [rows[i] for i in perm[cut:]]

    vocab = Vocab([d for d, _ in train_rows])
    enc = lambda rs: [(vocab.encode(d), queues.index(q)) for d, q in rs]
    train_loader = DataLoader(enc(train_rows), batch_size=BATCH, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(enc(test_rows), batch_size=256, collate_fn=collate)

    model = Router(len(vocab), len(queues)).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=MAX_LR / 25, weight_decay=0.01)
    scheduler = OneCycleLR(optimizer, max_lr=MAX_LR, epochs=EPOCHS, steps_per_epoch=len(train_loader))

    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for flat, off, y in train_loader:
            flat, off, y = flat.to(device), off.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(flat, off), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, acc {evaluate(model, test_loader, device):.3f}, lr {lr:.2e}")

    torch.save({"state": model.state_dict(), "vocab": vocab.stoi, "queues": queues}, out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python 06-ticket-router.py tickets.jsonl [router.pt]")
    main(*sys.argv[1:3])
