import argparse
import json
import random

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

PAD, UNK = 0, 1
IGNORE = -100


def read_jsonl(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


class Vocab:
    def __init__(self, items, specials=()):
        self.itos = list(specials) + sorted(set(items))
        self.stoi = {s: i for i, s in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, seq, default=None):
        return [self.stoi.get(s, default) for s in seq]


class BiLSTMTagger(nn.Module):
    def __init__(self, n_words, n_tags, emb_dim=24, hidden=32, dropout=0.2):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb_dim, padding_idx=PAD)
        self.drop = nn.Dropout(dropout)
        self.lstm = nn.LSTM(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_tags)

    def forward(self, words, lengths):
        x = self.drop(self.emb(words))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = self.lstm(packed)
        h, _ = pad_packed_sequence(h, batch_first=True, total_length=words.size(1))
        return self.out(self.drop(h))


def collate(batch):
    words = pad_sequence([torch.tensor(w) for w, _ in batch], batch_first=True, padding_value=PAD)
    tags = pad_sequence([torch.tensor(t) for _, t in batch], batch_first=True, padding_value=IGNORE)
    lengths = torch.tensor([len(w) for w, _ in batch])
    return words, tags, lengths


class Trainer:
    def __init__(self, model, lr, max_norm, device):
        self.model = model.to(device)
        self.device = device
        self.max_norm = max_norm
        self.criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)

    def train_step(self, words, tags, lengths):
        self.model.train()
        words, tags = words.to(self.device), tags.to(self.device)
        logits = self.model(words, lengths)
        loss = self.criterion(logits.view(-1, logits.size(-1)), tags.view(-1))
        self.model.zero_grad()
        loss.backward()
        norm = clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        return loss.item(), float(norm)

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hit = tot = 0
        for words, tags, lengths in loader:
            pred = self.model(words.to(self.device), lengths).argmax(-1).cpu()
            mask = tags != IGNORE
            hit += (pred[mask] == tags[mask]).sum().item()
            tot += mask.sum().item()
        return hit / tot


def main():
    p = argparse.ArgumentParser(description="POS tagger")
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=0.3)
    p.add_argument("--max-norm", type=float, default=0.1)
    p.add_argument("--batch-size", type=int, default=16)
    args = p.parse_args()

    random.seed(7)
    torch.manual_seed(7)
    rows = read_jsonl(args.data)
    random.shuffle(rows)
    cut = int(0.85 * len(rows))
    train_rows, dev_rows = rows[:cut], rows[cut:]

    words = Vocab((w for r in train_rows for w in r["tokens"]), specials=("<pad>", "<unk>"))
    tags = Vocab(t for r in train_rows for t in r["tags"])

    def encode(rs):
        return [(words.encode(r["tokens"], UNK), tags.encode(r["tags"])) for r in rs]

    train = DataLoader(encode(train_rows), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    dev = DataLoader(encode(dev_rows), batch_size=64, collate_fn=collate)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    trainer = Trainer(BiLSTMTagger(len(words), len(tags)), args.lr, args.max_norm, device)
    for epoch in range(args.epochs):
        losses, norms = zip(*(trainer.train_step(*b) for b in train))
        print(
            f"epoch {epoch + 1}: loss={sum(losses) / len(losses):.4f} "
            f"grad norm={sum(norms) / len(norms):.3f} dev acc={trainer.accuracy(dev):.4f}"
        )


if __name__ == "__main__":
    main()
