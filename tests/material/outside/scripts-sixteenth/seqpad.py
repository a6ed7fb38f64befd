"""Small helpers for character sequences (vocabulary, padding)."""
import torch

PAD, BOS, EOS = 0, 1, 2


class CharVocab:
    def __init__(self, lines):
        chars = sorted({c for line in lines for c in line})
        self.stoi = {c: k + 3 for k, c in enumerate(chars)}
        self.itos = {v: k for k, v in self.stoi.items()}

    def __len__(self):
        return len(self.stoi) + 3

    def encode(self, s):
        return [BOS] + [self.stoi[c] for c in s] + [EOS]

    def decode(self, ids):
        return "".join(self.itos.get(int(i), "") for i in ids)


def pad_batch(seqs):
    width = max(len(s) for s in seqs)
    out = torch.full((len(seqs), width), PAD, dtype=torch.long)
    for k, s in enumerate(seqs):
        out[k, :len(s)] = torch.tensor(s)
    return out[:, :-1], out[:, 1:]
