"""CTC speech-command recogniser on log-mel features; elementwise gradient clamp with tensor hooks.

Recurrent weights produce spikes, so every parameter's gradient is clamped to +-GRAD_CLAMP as it arrives.
"""
import os

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

FEATURES = "features.pt"  # list of (T, 40) tensors and list of label tensors
GRAD_CLAMP = 0.05
EPOCHS = 6
BATCH = 16
LR = 0.2
N_MELS, N_LABELS = 40, 11  # label 0 is blank
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(17)


class Recogniser(nn.Module):
    def __init__(self, n_mels, n_labels, hidden=96):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(n_mels, hidden, 5, stride=2, padding=2), nn.ReLU())
        self.rnn = nn.GRU(hidden, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_labels)

    def forward(self, x):
        h = self.front(x.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1)

    @staticmethod
    def output_lengths(lengths):
        return (lengths - 1) // 2 + 1


def clamp_gradient(grad):
    return grad.clamp(-GRAD_CLAMP, GRAD_CLAMP)


def synthetic(n=256):
    g = torch.Generator().manual_seed(2)
    prototypes = torch.randn(N_LABELS, N_MELS, generator=g)
    feats, labels = [], []
    for _ in range(n):
        k = int(torch.randint(2, 6, (1,), generator=g))
        y = torch.randint(1, N_LABELS, (k,), generator=g)
        frames = prototypes[y].repeat_interleave(8, dim=0)
        feats.append(frames + 0.3 * torch.randn(frames.shape, generator=g))
        labels.append(y)
    return feats, labels


def batches(feats, labels, order):
    for s in range(0, len(order), BATCH):
        ids = order[s : s + BATCH].tolist()
        x = pad_sequence([feats[i] for i in ids], batch_first=True)
        xl = torch.tensor([len(feats[i]) for i in ids])
        y = torch.cat([labels[i] for i in ids])
        yl = torch.tensor([len(labels[i]) for i in ids])
        yield x.to(DEVICE), xl, y.to(DEVICE), yl


@torch.no_grad()
def greedy_exact_match(model, feats, labels):
    model.eval()
    hit = 0
    for f, y in zip(feats, labels):
        path = model(f[None].to(DEVICE))[0].argmax(-1)
        path = torch.unique_consecutive(path)
        hit += int(path[path != 0].tolist() == y.tolist())
    model.train()
    return hit / len(feats)


if os.path.exists(FEATURES):
    feats, labels = torch.load(FEATURES)
else:
    feats, labels = synthetic()
n_val = max(1, len(feats) // 8)
val_feats, val_labels = feats[:n_val], labels[:n_val]
feats, labels = feats[n_val:], labels[n_val:]

model = Recogniser(N_MELS, N_LABELS).to(DEVICE)
for p in model.parameters():
    p.register_hook(clamp_gradient)
optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)

for epoch in range(EPOCHS):
    model.train()
    total, n = 0.0, 0
    for x, xl, y, yl in batches(feats, labels, torch.randperm(len(feats))):
        optimizer.zero_grad()
        logp = model(x)
        loss = ctc(logp.transpose(0, 1), y, model.output_lengths(xl), yl)
        loss.backward()
        optimizer.step()
        total, n = total + loss.item(), n + 1
    scheduler.step()
    print(f"epoch {epoch} ctc {total / n:.3f} exact {greedy_exact_match(model, val_feats, val_labels):.3f}")

torch.save(model.state_dict(), "recogniser.pt")
