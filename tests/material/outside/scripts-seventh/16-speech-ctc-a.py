"""CTC recogniser on precomputed log-mel features.

The manifest is jsonl, one utterance a line:
    {"feat": "feats/utt1.npy", "text": "hello world"}
with feat a float32 array (frames, n_mels).

A fixed DCT turns log-mels into cepstra; it is not trained. CTC on long utterances now and then
gives a very large gradient, so the norm is clipped at --clip.

    python speech_ctc.py --train train.jsonl --dev dev.jsonl
"""
import argparse
import json
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

ALPHABET = " abcdefghijklmnopqrstuvwxyz'"
CHAR2ID = {c: i + 1 for i, c in enumerate(ALPHABET)}  # 0 is blank


class Manifest(Dataset):
    def __init__(self, path):
        root = os.path.dirname(os.path.abspath(path))
        self.items = []
        with open(path) as f:
            for line in f:
                d = json.loads(line)
                self.items.append((os.path.join(root, d["feat"]), d["text"].lower()))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        feat, text = self.items[i]
        x = torch.from_numpy(np.load(feat)).float()
        y = torch.tensor([CHAR2ID[c] for c in text if c in CHAR2ID])
        return x, y


def collate(batch):
    xs, ys = zip(*batch)
    return (pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]),
            torch.cat(ys), torch.tensor([len(y) for y in ys]))


def dct_matrix(n):
    k = torch.arange(n).float()
    m = torch.cos(math.pi / n * (k[None, :] + 0.5) * k[:, None]) * math.sqrt(2.0 / n)
    m[0] /= math.sqrt(2.0)
    return m


class CTCModel(nn.Module):
    def __init__(self, n_mels, hidden, layers, vocab, dropout):
        super().__init__()
        self.dct = nn.Linear(n_mels, n_mels, bias=False)
        self.dct.weight.data.copy_(dct_matrix(n_mels))
        self.dct.weight.requires_grad = False
        self.conv = nn.Conv1d(n_mels, hidden, 5, stride=2, padding=2)
        self.rnn = nn.LSTM(hidden, hidden, layers, batch_first=True, bidirectional=True, dropout=dropout)
        self.out = nn.Linear(2 * hidden, vocab)

    def forward(self, x, lengths):
        x = self.dct(x)
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        out_len = (lengths + 1) // 2
        packed = pack_padded_sequence(h, out_len, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return F.log_softmax(self.out(h), dim=-1), out_len


def greedy(log_probs, lengths):
    res = []
    for lp, n in zip(log_probs.argmax(-1).cpu(), lengths):
        seq = torch.unique_consecutive(lp[:n]).tolist()
        res.append([s for s in seq if s != 0])
    return res


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


def run_dev(model, loader, device):
    model.eval()
    err = tot = 0
    with torch.no_grad():
        for x, xl, y, yl in loader:
            lp, ol = model(x.to(device), xl)
            for hyp, ref in zip(greedy(lp, ol), y.split(yl.tolist())):
                err += edit_distance(hyp, ref.tolist())
                tot += len(ref)
    return err / max(tot, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="train.jsonl")
    ap.add_argument("--dev", default="dev.jsonl")
    ap.add_argument("--n_mels", type=int, default=40)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--layers", type=int, default=3)
    ap.add_argument("--dropout", type=float, default=0.2)
    ap.add_argument("--batch_size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--clip", type=float, default=0.5)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--anneal", type=float, default=0.97, help="lr factor per epoch")
    ap.add_argument("--out", default="ctc.pt")
    args = ap.parse_args()
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader = DataLoader(Manifest(args.train), args.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(Manifest(args.dev), args.batch_size, collate_fn=collate)
    model = CTCModel(args.n_mels, args.hidden, args.layers, len(ALPHABET) + 1, args.dropout).to(device)

    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=args.momentum, nesterov=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=args.anneal)
    ctc = nn.CTCLoss(blank=0, reduction="mean", zero_infinity=True)

    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        running, seen = 0.0, 0
        for x, xl, y, yl in train_loader:
            log_probs, out_len = model(x.to(device), xl)
            loss = ctc(log_probs.transpose(0, 1), y.to(device), out_len, yl)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(params, args.clip)
            optimizer.step()
            running += loss.item() * len(xl)
            seen += len(xl)
        scheduler.step()
        cer = run_dev(model, dev_loader, device)
        print(f"epoch {epoch} loss {running / seen:.3f} CER {cer:.3f} lr {scheduler.get_last_lr()[0]:.4f}")
        if cer < best:
            best = cer
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
