"""Spoken digit strings with CTC, mixed precision.

manifest.jsonl: {"audio": "rel/path.wav", "digits": "40712", "split": "train" | "test"}
Encoder and output head have optimizers of their own (the head learns faster).
"""
import argparse
import json
import os
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Utterances(Dataset):
    def __init__(self, manifest, split, n_fft=400, hop=160):
        self.base = os.path.dirname(os.path.abspath(manifest))
        with open(manifest) as f:
            self.rows = [r for r in map(json.loads, f) if r["split"] == split]
        self.n_fft, self.hop = n_fft, hop
        self.win = torch.hann_window(n_fft)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        with wave.open(os.path.join(self.base, r["audio"])) as w:
            pcm = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768
        spec = torch.stft(torch.from_numpy(pcm), self.n_fft, self.hop, window=self.win, return_complex=True)
        feat = (spec.abs() + 1e-4).log().T[:, :128]
        feat = (feat - feat.mean(0)) / (feat.std(0) + 1e-3)
        return feat, torch.tensor([int(c) + 1 for c in r["digits"]])


def collate(batch):
    x, y = zip(*batch)
    return (nn.utils.rnn.pad_sequence(x, True), torch.tensor([len(t) for t in x]),
            torch.cat(y), torch.tensor([len(t) for t in y]))


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.front = nn.Conv1d(128, hidden, 5, stride=2, padding=2)
        self.rnn = nn.GRU(hidden, hidden, 2, batch_first=True, bidirectional=True, dropout=0.1)

    def forward(self, x, lengths):
        x = F.gelu(self.front(x.transpose(1, 2))).transpose(1, 2)
        lengths = (lengths - 1) // 2 + 1
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))
        return h, lengths


def greedy(logits, lengths):
    out = []
    for row, n in zip(logits.argmax(-1).cpu(), lengths):
        ids = torch.unique_consecutive(row[:n]).tolist()
        out.append([i for i in ids if i != 0])
    return out


def edit_distance(a, b):
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (x != y))
    return d[-1]


@torch.no_grad()
def error_rate(encoder, head, loader, device):
    encoder.eval()
    head.eval()
    errors = total = 0
    for x, xl, y, yl in loader:
        h, hl = encoder(x.to(device), xl)
        for hyp, ref in zip(greedy(head(h), hl), y.split(yl.tolist())):
            errors += edit_distance(hyp, ref.tolist())
            total += len(ref)
    return errors / max(1, total)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--manifest", default="digits/manifest.jsonl")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--head-lr", type=float, default=0.08)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--workers", type=int, default=4)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp = device == "cuda"
    train = DataLoader(Utterances(args.manifest, "train"), args.batch, shuffle=True, collate_fn=collate,
                       num_workers=args.workers)
    test = DataLoader(Utterances(args.manifest, "test"), args.batch, collate_fn=collate, num_workers=args.workers)

    encoder = Encoder(args.hidden).to(device)
    head = nn.Sequential(nn.LayerNorm(2 * args.hidden), nn.Dropout(0.1), nn.Linear(2 * args.hidden, 11)).to(device)
    opt_enc = torch.optim.SGD(encoder.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    opt_head = torch.optim.SGD(head.parameters(), lr=args.head_lr, momentum=0.9, nesterov=True)
    params = list(encoder.parameters()) + list(head.parameters())
    scaler = torch.amp.GradScaler(device, enabled=amp)

    for epoch in range(args.epochs):
        encoder.train()
        head.train()
        total = 0.0
        for x, xl, y, yl in train:
            with torch.autocast(device, dtype=torch.float16, enabled=amp):
                h, hl = encoder(x.to(device), xl)
                logits = head(h)
            logp = logits.float().log_softmax(-1).transpose(0, 1)
            loss = F.ctc_loss(logp, y.to(device), hl, yl, zero_infinity=True)
            opt_enc.zero_grad(set_to_none=True)
            opt_head.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(opt_enc)
            nn.utils.clip_grad_norm_(params, args.clip)
            scaler.step(opt_enc)
            scaler.step(opt_head)
            scaler.update()
            total += loss.item()
        print(f"epoch {epoch} ctc {total / len(train):.4f} digit error {error_rate(encoder, head, test, device):.4f}")
        torch.save({"encoder": encoder.state_dict(), "head": head.state_dict()}, "ctc_digits.pt")


if __name__ == "__main__":
    main()
