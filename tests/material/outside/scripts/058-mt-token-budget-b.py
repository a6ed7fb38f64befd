"""GRU encoder-decoder. An update happens whenever at least TOKENS_PER_UPDATE target tokens were seen."""
import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from datasets import load_dataset

TOKENS_PER_UPDATE = 1500
MAX_SENTS = 16
EPOCHS = 3
DIM = 48
LR = 2e-3
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(0)
torch.manual_seed(0)

rows = [r["translation"] for r in load_dataset("opus_books", "en-fr", split="train").select(range(300))]


def vocabulary(sentences, size=4000):
    counts = collections.Counter(w for s in sentences for w in s.lower().split())
    return {w: i + 4 for i, (w, _) in enumerate(counts.most_common(size))}


def encode(vocab, s, limit=40):
    return [1] + [vocab.get(w, 3) for w in s.lower().split()][:limit] + [2]


src_vocab = vocabulary(r["en"] for r in rows)
tgt_vocab = vocabulary(r["fr"] for r in rows)
pairs = [(encode(src_vocab, r["en"]), encode(tgt_vocab, r["fr"])) for r in rows]


def batches():
    """Sentences of similar length together, batches in random order."""
    ordered = sorted(pairs, key=lambda p: len(p[1]) + random.random())
    chunks = [ordered[i:i + MAX_SENTS] for i in range(0, len(ordered), MAX_SENTS)]
    random.shuffle(chunks)
    pad = lambda seqs: nn.utils.rnn.pad_sequence([torch.tensor(s) for s in seqs], batch_first=True)
    for c in chunks:
        yield pad([p[0] for p in c]).to(DEVICE), pad([p[1] for p in c]).to(DEVICE)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src = nn.Embedding(len(src_vocab) + 4, DIM, padding_idx=0)
        self.tgt = nn.Embedding(len(tgt_vocab) + 4, DIM, padding_idx=0)
        self.enc = nn.GRU(DIM, DIM, batch_first=True)
        self.dec = nn.GRU(DIM, DIM, batch_first=True)
        self.attn = nn.Linear(DIM, DIM, bias=False)
        self.out = nn.Linear(2 * DIM, len(tgt_vocab) + 4)

    def forward(self, x, y):
        mem, h = self.enc(self.src(x))
        dec, _ = self.dec(self.tgt(y), h)
        score = self.attn(dec) @ mem.transpose(1, 2)
        score = score.masked_fill((x == 0).unsqueeze(1), -1e4)
        return self.out(torch.cat([dec, score.softmax(-1) @ mem], -1))


model = Seq2Seq().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=LR)


def apply(tokens):
    # the accumulated gradient belongs to a sum over tokens
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(tokens)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


for epoch in range(EPOCHS):
    model.train()
    seen, updates = 0, 0
    loss_sum, tok_sum = 0.0, 0
    for x, y in batches():
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            logits = model(x, y[:, :-1])
        target = y[:, 1:]
        loss = F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=0, reduction="sum")
        loss.backward()
        n = int((target != 0).sum())
        seen += n
        loss_sum, tok_sum = loss_sum + loss.item(), tok_sum + n
        if seen >= TOKENS_PER_UPDATE:
            apply(seen)
            seen = 0
            updates += 1
    if seen:
        apply(seen)
        updates += 1
    print(f"epoch {epoch}: {updates} updates, nll/token {loss_sum / tok_sum:.4f}")
