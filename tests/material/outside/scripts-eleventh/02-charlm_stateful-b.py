import argparse
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def load_corpus(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    vocab = sorted(set(text))
    stoi = {c: i for i, c in enumerate(vocab)}
    ids = torch.tensor([stoi[c] for c in text], dtype=torch.long)
    return ids, vocab


def batchify(ids, bsz):
    n = ids.numel() // bsz
    return ids[: n * bsz].view(bsz, n)


def segments(data, bptt):
    for i in range(0, data.size(1) - 1, bptt):
        n = min(bptt, data.size(1) - 1 - i)
        yield data[:, i:i + n], data[:, i + 1:i + 1 + n]


class StatefulLM(nn.Module):
    """LSTM language model that keeps its recurrent state between calls."""

    def __init__(self, vocab, emb, hidden, layers, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hidden, layers, dropout=dropout, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, vocab)
        self.state = None

    def reset_state(self):
        self.state = None

    def detach_state(self):
        if self.state is not None:
            self.state = tuple(s.detach() for s in self.state)

    def forward(self, x):
        h, self.state = self.rnn(self.drop(self.embed(x)), self.state)
        return self.out(self.drop(h))


@torch.no_grad()
def evaluate(model, data, bptt):
    model.eval()
    model.reset_state()
    total, count = 0.0, 0
    for x, y in segments(data, bptt):
        logits = model(x)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    model.train()
    return total / count


def train_epoch(model, data, valid, optimizer, args, epoch):
    model.train()
    model.reset_state()
    total, count, t0 = 0.0, 0, time.time()
    for step, (x, y) in enumerate(segments(data, args.bptt)):
        model.detach_state()
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        total += loss.item() * y.numel()
        count += y.numel()
        if step % args.log_every == 0:
            print(f"| epoch {epoch} | step {step} | loss {total / count:.3f} | {time.time() - t0:.1f}s")
        if (step + 1) % args.eval_every == 0:
            print(f"| epoch {epoch} | step {step} | valid {evaluate(model, valid, args.bptt):.3f}")
    return total / count


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--text", default="data/corpus.txt")
    p.add_argument("--save", default="checkpoints/charlm.pt")
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--bptt", type=int, default=64)
    p.add_argument("--emb", type=int, default=128)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--dropout", type=float, default=0.3)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=0.5)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--seed", type=int, default=1337)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    os.makedirs(os.path.dirname(args.save) or ".", exist_ok=True)

    ids, vocab = load_corpus(args.text)
    cut = int(0.9 * ids.numel())
    train = batchify(ids[:cut], args.batch_size).to(device)
    valid = batchify(ids[cut:], args.batch_size).to(device)

    model = StatefulLM(len(vocab), args.emb, args.hidden, args.layers, args.dropout).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        train_loss = train_epoch(model, train, valid, optimizer, args, epoch)
        val_loss = evaluate(model, valid, args.bptt)
        scheduler.step(val_loss)
        lr = optimizer.param_groups[0]["lr"]
        print(f"== epoch {epoch} train {train_loss:.4f} valid {val_loss:.4f} bpc {val_loss / math.log(2):.3f} lr {lr:.2e}")
        if val_loss < best:
            best = val_loss
            torch.save({"model": model.state_dict(), "vocab": vocab, "args": vars(args)}, args.save)


if __name__ == "__main__":
    main()
