"""Review rating model (reviews.jsonl: {"text": ..., "stars": 1..5}) with smaller gradients for lower layers."""
import argparse
import json
import re
from collections import Counter
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

TOKEN = re.compile(r"[a-z']+|[!?.]")


def tokenize(text):
    return TOKEN.findall(text.lower())


def read(path):
    with open(path, encoding="utf-8") as f:
        return [(tokenize(r["text"]), int(r["stars"]) - 1) for r in map(json.loads, f)]


class Vocab:
    def __init__(self, docs, min_count=2, max_size=30000):
        counts = Counter(t for toks, _ in docs for t in toks)
        self.itos = ["<pad>", "<unk>"] + [w for w, c in counts.most_common(max_size) if c >= min_count]
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def __call__(self, toks, limit):
        return [self.stoi.get(t, 1) for t in toks[:limit]] or [1]


class Collate:
    def __init__(self, vocab, limit):
        self.vocab, self.limit = vocab, limit

    def __call__(self, rows):
        ids = [torch.tensor(self.vocab(t, self.limit)) for t, _ in rows]
        return (nn.utils.rnn.pad_sequence(ids, batch_first=True), torch.tensor([len(i) for i in ids]),
                torch.tensor([s for _, s in rows]))


class StackedGRU(nn.Module):
    def __init__(self, vocab, dim=128, hidden=128, layers=3, classes=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnns = nn.ModuleList([nn.GRU(dim if i == 0 else 2 * hidden, hidden, batch_first=True, bidirectional=True)
                                   for i in range(layers)])
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, ids, lengths):
        x = self.drop(self.emb(ids))
        for rnn in self.rnns:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            x = self.drop(nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)[0])
        mask = (torch.arange(x.size(1)) < lengths[:, None]).to(x.device).unsqueeze(-1)
        return self.fc((x * mask).sum(1) / mask.sum(1))


def attach_layer_decay(model, decay):
    """Multiplies the gradient of layer l (from the top) by decay ** l."""
    stack = [model.emb, *model.rnns]
    for depth, module in enumerate(reversed(stack), start=1):
        factor = decay ** depth
        for p in module.parameters():
            p.register_hook(lambda g, f=factor: g * f)


def train_epoch(model, loader, optimizer, device, args):
    model.train()
    total = 0.0
    for ids, lengths, y in loader:
        logits = model(ids.to(device), lengths)
        loss = F.cross_entropy(logits, y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    return sum((model(ids.to(device), n).argmax(1).cpu() == y).sum().item() for ids, n, y in loader) / len(
        loader.dataset)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path, default=Path("data/reviews.jsonl"))
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--max-tokens", type=int, default=200)
    p.add_argument("--lr", type=float, default=0.5)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--layer-decay", type=float, default=0.7)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    docs = read(args.data)
    cut = int(0.9 * len(docs))
    train, valid = docs[:cut], docs[cut:]
    vocab = Vocab(train)
    collate = Collate(vocab, args.max_tokens)
    train_dl = DataLoader(train, args.batch_size, shuffle=True, collate_fn=collate)
    valid_dl = DataLoader(valid, args.batch_size, collate_fn=collate)
    model = StackedGRU(len(vocab)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.85)
    attach_layer_decay(model, args.layer_decay)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train_dl, optimizer, device, args)
        scheduler.step()
        print(f"epoch {epoch} loss {loss:.4f} valid {evaluate(model, valid_dl, device):.4f}")
    torch.save({"model": model.state_dict(), "vocab": vocab.itos}, "reviews.pt")


if __name__ == "__main__":
    main()
