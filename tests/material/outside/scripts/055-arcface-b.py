"""Speaker embeddings with an additive angular margin head."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

N_SPEAKERS, FRAMES, MEL = 16, 30, 12
EMB = 24


class Utterances(Dataset):
    def __init__(self, per_speaker, seed):
        base = torch.Generator().manual_seed(7)
        self.formant = torch.randn(N_SPEAKERS, MEL, generator=base)
        self.rhythm = 0.2 + torch.rand(N_SPEAKERS, generator=base)
        self.g = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(N_SPEAKERS).repeat(per_speaker)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        s = int(self.labels[i])
        n = int(torch.randint(FRAMES // 2, FRAMES, (1,), generator=self.g))
        t = torch.arange(n).float().unsqueeze(1)
        x = self.formant[s] * (1 + 0.5 * torch.sin(self.rhythm[s] * t)) + 1.5 * torch.randn(n, MEL, generator=self.g)
        return x, s


def collate(items):
    lengths = torch.tensor([len(x) for x, _ in items])
    x = nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True)
    return x, lengths, torch.tensor([s for _, s in items])


class Encoder(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(MEL, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.seg = nn.Linear(2 * h, EMB)

    def forward(self, x, lengths):
        h = self.frame(x)
        mask = (torch.arange(x.size(1)) < lengths.unsqueeze(1)).unsqueeze(-1).float().to(x.device)
        mean = (h * mask).sum(1) / mask.sum(1)
        var = ((h - mean.unsqueeze(1)) ** 2 * mask).sum(1) / mask.sum(1)
        return self.seg(torch.cat([mean, (var + 1e-5).sqrt()], 1))


class ArcMargin(nn.Module):
    def __init__(self, dim, classes, scale=16.0, margin=0.15):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, classes).t().contiguous())
        self.scale, self.cos_m, self.sin_m = scale, math.cos(margin), math.sin(margin)

    def forward(self, emb, y):
        cos = F.linear(F.normalize(emb), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
        phi = cos * self.cos_m - (1 - cos ** 2).sqrt() * self.sin_m
        onehot = F.one_hot(y, cos.size(1)).float()
        return self.scale * (onehot * phi + (1 - onehot) * cos)


@torch.no_grad()
def eer(encoder, loader):
    emb, lab = [], []
    for x, n, y in loader:
        emb.append(F.normalize(encoder(x, n)))
        lab.append(y)
    emb, lab = torch.cat(emb), torch.cat(lab)
    i, j = torch.triu_indices(len(lab), len(lab), 1)
    score, same = (emb[i] * emb[j]).sum(1), lab[i] == lab[j]
    order = score.argsort(descending=True)
    same = same[order].float()
    fa = (1 - same).cumsum(0) / (1 - same).sum()
    miss = 1 - same.cumsum(0) / same.sum()
    k = (fa - miss).abs().argmin()
    return ((fa[k] + miss[k]) / 2).item()


def main():
    torch.manual_seed(0)
    train = DataLoader(Utterances(30, 1), 48, shuffle=True, collate_fn=collate)
    test = DataLoader(Utterances(6, 2), 96, collate_fn=collate)
    encoder, head = Encoder(), ArcMargin(EMB, N_SPEAKERS)
    optimizer = torch.optim.Adam([{"params": encoder.parameters()}, {"params": head.parameters(), "lr": 5e-3}], lr=3e-3)
    for epoch in range(5):
        total = 0.0
        for x, n, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(head(encoder(x, n), y), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: aam loss {total / len(train):.4f} EER {100 * eer(encoder, test):.1f}%")


if __name__ == "__main__":
    main()
