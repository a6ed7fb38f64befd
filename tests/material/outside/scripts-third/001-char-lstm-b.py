import math
import random
import torch
import torch.nn as nn

TEXT = ("the quick brown fox jumps over the lazy dog. "
        "pack my box with five dozen liquor jugs. ") * 60
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in TEXT])

BATCH, BPTT, HID = 8, 25, 64


def batchify(x, bsz):
    n = x.numel() // bsz
    return x[: n * bsz].view(bsz, n).t().contiguous()


class CharLSTM(nn.Module):
    def __init__(self, vocab, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, hid)
        self.rnn = nn.LSTM(hid, hid, num_layers=2)
        self.out = nn.Linear(hid, vocab)

    def forward(self, x, h):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return (w.new_zeros(2, bsz, HID), w.new_zeros(2, bsz, HID))


def repackage(h):
    return tuple(v.detach() for v in h)


torch.manual_seed(1)
src = batchify(data, BATCH)
net = CharLSTM(len(chars), HID)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(3):
    h = net.init_hidden(BATCH)
    tot, cnt = 0.0, 0
    for i in range(0, src.size(0) - 1 - BPTT, BPTT):
        x = src[i:i + BPTT]
        y = src[i + 1:i + 1 + BPTT]
        h = repackage(h)
        opt.zero_grad()
        logits, h = net(x, h)
        loss = ce(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        opt.step()
        tot += loss.item()
        cnt += 1
    print(f"epoch {epoch} | ppl {math.exp(tot / cnt):.2f}")
