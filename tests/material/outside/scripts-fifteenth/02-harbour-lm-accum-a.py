import os
import math
import random
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

HERE = os.path.dirname(os.path.abspath(__file__))
PAD, BOS, EOS = 0, 1, 2
ACCUM = 4
MICRO = 12
EPOCHS = 3
LR = 1.0

random.seed(0)
torch.set_num_threads(1)
torch.manual_seed(0)

lines = open(os.path.join(HERE, "data", "harbour.txt")).read().split("\n")
lines = [l for l in lines if l]
words = sorted({w for l in lines for w in l.replace(".", " .").split()})
stoi = {w: i + 3 for i, w in enumerate(words)}
enc = lambda l: torch.tensor([BOS] + [stoi[w] for w in l.replace(".", " .").split()] + [EOS])
data = [enc(l) for l in lines]
random.shuffle(data)
heldout, train = data[:60], data[60:]
V = len(stoi) + 3


class LM(nn.Module):
    def __init__(self, V, d=48):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=PAD)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, V)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def batches(seqs, shuffle):
    order = list(range(len(seqs)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), MICRO):
        yield pad_sequence([seqs[j] for j in order[i:i + MICRO]], batch_first=True, padding_value=PAD)


def nll_sum(model, ids):
    """summed negative log likelihood, and how many targets it covers"""
    inp, tgt = ids[:, :-1], ids[:, 1:]
    logits = model(inp)
    s = F.cross_entropy(logits.reshape(-1, V), tgt.reshape(-1), ignore_index=PAD, reduction="sum")
    return s, int((tgt != PAD).sum())


def apply_window(model, opt, n_tokens):
    # the gradients hold sums over the window: make them a mean per token
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(n_tokens)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    return norm.item()


@torch.no_grad()
def perplexity(model):
    model.eval()
    tot, n = 0.0, 0
    for ids in batches(heldout, shuffle=False):
        s, k = nll_sum(model, ids)
        tot += s.item()
        n += k
    model.train()
    return math.exp(tot / n)


model = LM(V)
opt = torch.optim.SGD(model.parameters(), lr=LR)
print("vocab", V, "train", len(train), "ppl before", round(perplexity(model), 2))

for ep in range(EPOCHS):
    n_tok = 0
    pending = 0
    seen = 0.0
    seen_tok = 0
    opt.zero_grad()
    for ids in batches(train, shuffle=True):
        s, k = nll_sum(model, ids)
        s.backward()
        seen += s.item()
        seen_tok += k
        n_tok += k
        pending += 1
        if pending == ACCUM:
            apply_window(model, opt, n_tok)
            n_tok = 0
            pending = 0
    if pending:
        apply_window(model, opt, n_tok)
    print(f"epoch {ep}: train nll {seen / seen_tok:.3f}  heldout ppl {perplexity(model):.2f}")
