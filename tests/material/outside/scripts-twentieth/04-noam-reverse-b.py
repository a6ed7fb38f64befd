import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

VOCAB, LENGTH, D_MODEL = 12, 8, 32
WARMUP, STEPS, BATCH, FACTOR = 100, 600, 64, 0.3


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Reverser(nn.Module):
    """predicts the reversed input sequence, position by position"""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL)
        self.pos = PositionalEncoding(D_MODEL)
        layer = nn.TransformerEncoderLayer(
            D_MODEL, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.out = nn.Linear(D_MODEL, VOCAB)

    def forward(self, tokens):
        h = self.pos(self.embed(tokens))
        return self.out(self.encoder(h))


def noam(step):
    """learning rate of "Attention is all you need"; step counts from 0"""
    step = step + 1
    return FACTOR * D_MODEL ** -0.5 * min(step ** -0.5, step * WARMUP ** -1.5)


def get_batch(n=BATCH):
    src = torch.randint(0, VOCAB, (n, LENGTH))
    return src, src.flip(1)


def build():
    model = Reverser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    scheduler = LambdaLR(optimizer, lr_lambda=noam)
    return model, optimizer, scheduler


def train(model, optimizer, scheduler):
    model.train()
    start = time.time()
    for step in range(STEPS):
        src, tgt = get_batch()
        loss = F.cross_entropy(model(src).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss.item():.4f} ({time.time() - start:.1f}s)")


@torch.no_grad()
def accuracy(model):
    model.eval()
    src, tgt = get_batch(512)
    return (model(src).argmax(-1) == tgt).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    parts = build()
    train(*parts)
    print("token accuracy", round(accuracy(parts[0]), 4))
