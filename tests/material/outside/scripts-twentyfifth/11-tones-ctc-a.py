"""CTC recogniser for tone sequences recorded as wav files."""
import argparse
import json
import os
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

BLANK = 0


class Tokenizer:
    def __init__(self, alphabet):
        self.c2i = {c: i + 1 for i, c in enumerate(alphabet)}
        self.i2c = {i: c for c, i in self.c2i.items()}
        self.num_classes = len(alphabet) + 1

    def encode(self, text):
        return torch.tensor([self.c2i[c] for c in text], dtype=torch.long)

    def decode_greedy(self, path):
        out, prev = [], None
        for i in path:
            if i != prev and i != BLANK:
                out.append(self.i2c.get(i, "?"))
            prev = i
        return "".join(out)


def read_wav(path):
    with wave.open(path, "rb") as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2")
    return torch.from_numpy(pcm.astype(np.float32) / 32768.0)


def log_spectrogram(x, n_fft=128, hop=64):
    spec = torch.stft(x, n_fft, hop, window=torch.hann_window(n_fft), return_complex=True).abs()
    feat = torch.log1p(20 * spec).t()
    return (feat - feat.mean()) / (feat.std() + 1e-5)


class ToneDataset(Dataset):
    def __init__(self, root, split, tokenizer):
        with open(os.path.join(root, "manifest.json")) as fh:
            entries = [e for e in json.load(fh) if e["split"] == split]
        self.items = [(log_spectrogram(read_wav(os.path.join(root, e["audio"]))),
                       tokenizer.encode(e["text"]), e["text"]) for e in entries]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    feats, targets, texts = zip(*batch)
    feat_lens = torch.tensor([len(f) for f in feats])
    target_lens = torch.tensor([len(t) for t in targets])
    return pad_sequence(feats, batch_first=True), feat_lens, torch.cat(targets), target_lens, texts


class ToneRecognizer(nn.Module):
    def __init__(self, n_feats, n_classes, hidden=48):
        super().__init__()
        self.conv = nn.Conv1d(n_feats, hidden, 5, stride=2, padding=2)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_classes)

    def forward(self, x, lens):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        lens = (lens + 2 * 2 - 5) // 2 + 1
        packed = pack_padded_sequence(h, lens, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return F.log_softmax(self.out(h), dim=-1), lens


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, cb in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (ca != cb))
    return row[-1]


@torch.no_grad()
def evaluate(model, loader, tokenizer):
    model.eval()
    errs = chars = 0
    example = None
    for x, lens, _, _, texts in loader:
        logp, out_lens = model(x, lens)
        for p, n, ref in zip(logp.argmax(-1), out_lens, texts):
            hyp = tokenizer.decode_greedy(p[:n].tolist())
            errs += edit_distance(hyp, ref)
            chars += len(ref)
            example = (ref, hyp)
    return errs / chars, example


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="data/tones")
    p.add_argument("--alphabet", default="abcdef")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    args = p.parse_args()

    torch.manual_seed(2)
    tokenizer = Tokenizer(args.alphabet)
    train_set = ToneDataset(args.root, "train", tokenizer)
    dev_set = ToneDataset(args.root, "dev", tokenizer)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(dev_set, 64, collate_fn=collate)

    model = ToneRecognizer(train_set[0][0].size(1), tokenizer.num_classes)
    ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, args.lr, epochs=args.epochs, steps_per_epoch=len(train_loader))

    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for x, lens, targets, target_lens, _ in train_loader:
            logp, out_lens = model(x, lens)
            loss = ctc(logp.transpose(0, 1), targets, out_lens, target_lens)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        cer, (ref, hyp) = evaluate(model, dev_loader, tokenizer)
        print(f"epoch {epoch:2d} ctc {total / len(train_loader):.3f} dev CER {cer:.3f}  ref={ref} hyp={hyp}")
    torch.save({"model": model.state_dict(), "alphabet": args.alphabet}, "tones_ctc.pt")


if __name__ == "__main__":
    main()
