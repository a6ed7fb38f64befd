# %% [markdown]
# # Date normalisation with an attention seq2seq
# "3 march 2004" -> "2004-03-03"

# %%
import os
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 7
N_TRAIN = int(os.environ.get("N_TRAIN", 20000))
EPOCHS = int(os.environ.get("EPOCHS", 8))
BATCH = 128
HIDDEN = 256
LR = 1e-3
MAX_GRAD_NORM = 1.0
TEACHER_FORCING = 0.7
random.seed(SEED)
torch.manual_seed(SEED)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# %%
MONTHS = ("january february march april may june july august september october november december").split()
PAD, SOS, EOS = 0, 1, 2
CHARS = ["<pad>", "<s>", "</s>"] + list("abcdefghijklmnopqrstuvwxyz0123456789 ,-/")
STOI = {c: i for i, c in enumerate(CHARS)}


def sample_pair():
    y, m, d = random.randint(1950, 2050), random.randint(1, 12), random.randint(1, 28)
    src = random.choice([f"{d} {MONTHS[m - 1]} {y}", f"{MONTHS[m - 1]} {d}, {y}", f"{d}/{m}/{y}",
                         f"{MONTHS[m - 1][:3]} {d} {y}"])
    return src, f"{y}-{m:02d}-{d:02d}"


def encode(s):
    return torch.tensor([STOI[c] for c in s] + [EOS])


def collate(pairs):
    src = [encode(a) for a, _ in pairs]
    tgt = [encode(b) for _, b in pairs]
    return (nn.utils.rnn.pad_sequence(src, batch_first=True, padding_value=PAD),
            nn.utils.rnn.pad_sequence(tgt, batch_first=True, padding_value=PAD))


train_pairs = [sample_pair() for _ in range(N_TRAIN)]
val_pairs = [sample_pair() for _ in range(512)]
train_loader = torch.utils.data.DataLoader(train_pairs, BATCH, shuffle=True, collate_fn=collate)
val_loader = torch.utils.data.DataLoader(val_pairs, BATCH, collate_fn=collate)


# %%
class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.rnn = nn.LSTM(hidden, hidden // 2, bidirectional=True, batch_first=True)

    def forward(self, src):
        out, (h, c) = self.rnn(self.emb(src))
        return out, (torch.cat([h[0], h[1]], -1), torch.cat([c[0], c[1]], -1))


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.cell = nn.LSTMCell(2 * hidden, hidden)
        self.attn = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(2 * hidden, vocab)

    def step(self, tok, state, mem, mask):
        score = torch.bmm(mem, self.attn(state[0]).unsqueeze(-1)).squeeze(-1)
        w = score.masked_fill(mask, -1e9).softmax(-1)
        ctx = torch.bmm(w.unsqueeze(1), mem).squeeze(1)
        state = self.cell(torch.cat([self.emb(tok), ctx], -1), state)
        return self.out(torch.cat([state[0], ctx], -1)), state


class Seq2Seq(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.encoder, self.decoder = Encoder(vocab, hidden), Decoder(vocab, hidden)

    def forward(self, src, tgt, teacher=1.0):
        mem, state = self.encoder(src)
        mask = src.eq(PAD)
        tok = torch.full((src.size(0),), SOS, device=src.device)
        logits = []
        for t in range(tgt.size(1)):
            out, state = self.decoder.step(tok, state, mem, mask)
            logits.append(out)
            tok = tgt[:, t] if random.random() < teacher else out.argmax(-1)
        return torch.stack(logits, 1)


# %%
model = Seq2Seq(len(CHARS), HIDDEN).to(device)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(params, lr=LR)
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters")


@torch.no_grad()
def exact_match():
    model.eval()
    ok = n = 0
    for src, tgt in val_loader:
        src, tgt = src.to(device), tgt.to(device)
        pred = model(src, tgt, teacher=0.0).argmax(-1)
        ok += ((pred == tgt) | tgt.eq(PAD)).all(1).sum().item()
        n += len(src)
    return ok / n


# %%
history = []
for epoch in range(EPOCHS):
    model.train()
    t0, total = time.time(), 0.0
    for src, tgt in train_loader:
        src, tgt = src.to(device), tgt.to(device)
        logits = model(src, tgt, TEACHER_FORCING)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, MAX_GRAD_NORM)
        optimizer.step()
        total += loss.item()
    history.append(total / len(train_loader))
    print(f"epoch {epoch + 1}: loss {history[-1]:.4f}  exact {exact_match():.3f}  {time.time() - t0:.0f}s")
