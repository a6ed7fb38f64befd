"""BiLSTM tagger on a two-column file (token<TAB>tag, blank line between sentences)."""
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

EPOCHS = 3
MICRO_BATCH = 5
ACCUM = 4
PEAK_LR = 4e-3
WARMUP = 0.1
MAX_NORM = 1.0
PAD_TAG = -1


def read_conll(path):
    sents, cur = [], []
    for line in Path(path).read_text().splitlines():
        if not line.strip():
            if cur:
                sents.append(cur)
            cur = []
        else:
            tok, tag = line.split("\t")
            cur.append((tok, tag))
    if cur:
        sents.append(cur)
    return sents


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, dim=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(2 * dim, n_tags)

    def forward(self, x):
        return self.out(self.drop(self.rnn(self.emb(x))[0]))


def encode(sents, w2i, t2i):
    return [(torch.tensor([w2i[w] for w, _ in s]), torch.tensor([t2i[t] for _, t in s])) for s in sents]


def minibatches(data, size, shuffle):
    order = torch.randperm(len(data)).tolist() if shuffle else range(len(data))
    order = list(order)
    for i in range(0, len(order), size):
        part = [data[j] for j in order[i:i + size]]
        yield (pad_sequence([p[0] for p in part], batch_first=True),
               pad_sequence([p[1] for p in part], batch_first=True, padding_value=PAD_TAG))


def warmup_linear(total):
    warm = max(1, int(WARMUP * total))

    def factor(step):
        if step < warm:
            return (step + 1) / warm
        return max(0.0, (total - step) / max(1, total - warm))
    return factor


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    ok = n = 0
    for x, y in minibatches(data, 32, shuffle=False):
        m = y != PAD_TAG
        ok += (model(x).argmax(-1)[m] == y[m]).sum().item()
        n += m.sum().item()
    return ok / n


def main(path):
    torch.manual_seed(0)
    sents = read_conll(path)
    w2i = {w: i + 1 for i, w in enumerate(sorted({w for s in sents for w, _ in s}))}
    t2i = {t: i for i, t in enumerate(sorted({t for s in sents for _, t in s}))}
    data = encode(sents, w2i, t2i)
    split = len(data) * 4 // 5
    train, dev = data[:split], data[split:]

    n_micro = -(-len(train) // MICRO_BATCH)
    updates = -(-n_micro // ACCUM) * EPOCHS
    model = Tagger(len(w2i) + 1, len(t2i))
    opt = torch.optim.AdamW(model.parameters(), lr=PEAK_LR)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, warmup_linear(updates))

    for epoch in range(EPOCHS):
        model.train()
        opt.zero_grad()
        for i, (x, y) in enumerate(minibatches(train, MICRO_BATCH, shuffle=True)):
            group = min(ACCUM, n_micro - i // ACCUM * ACCUM)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=PAD_TAG)
            (loss / group).backward()
            if (i + 1) % ACCUM == 0 or i + 1 == n_micro:
                nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
                opt.step()
                sched.step()
                opt.zero_grad()
        print(f"epoch {epoch}: loss {loss.item():.3f} dev acc {accuracy(model, dev):.3f} lr {sched.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main(sys.argv[1])
