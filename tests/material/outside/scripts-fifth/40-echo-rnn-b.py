"""Echo task: the output at t is the input at t - delay.  Stateful RNN trained with truncated BPTT."""
from __future__ import annotations

import argparse
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Hyper(NamedTuple):
    delay: int = 6
    symbols: int = 8
    hidden: int = 128
    layers: int = 2
    batch: int = 32
    stream: int = 2000
    chunk: int = 40
    lr: float = 2e-3
    clip: float = 1.0
    epochs: int = 12
    seed: int = 0


class LayerNormGRU(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.cell = nn.GRUCell(i, h)
        self.norm = nn.LayerNorm(h)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.norm(h), h


class EchoNet(nn.Module):
    def __init__(self, hp: Hyper):
        super().__init__()
        self.hp = hp
        self.emb = nn.Embedding(hp.symbols, hp.hidden)
        self.layers = nn.ModuleList([LayerNormGRU(hp.hidden, hp.hidden) for _ in range(hp.layers)])
        self.out = nn.Linear(hp.hidden, hp.symbols)

    def initial_state(self, batch, device):
        return [torch.zeros(batch, self.hp.hidden, device=device) for _ in self.layers]

    def forward(self, tokens, state):
        logits = []
        for x in self.emb(tokens).unbind(1):
            new_state = []
            for layer, h in zip(self.layers, state):
                x, h = layer(x, h)
                new_state.append(h.detach())
            state = new_state
            logits.append(self.out(x))
        return torch.stack(logits, 1), state


def streams(hp: Hyper, generator):
    x = torch.randint(0, hp.symbols, (hp.batch, hp.stream), generator=generator)
    y = torch.full_like(x, -100)
    y[:, hp.delay:] = x[:, :-hp.delay]
    return x, y


def chunks(x, y, size):
    for s in range(0, x.size(1), size):
        yield x[:, s:s + size], y[:, s:s + size]


@torch.no_grad()
def evaluate(model, hp, device, generator):
    model.eval()
    x, y = streams(hp, generator)
    x, y = x[:, :400], y[:, :400]
    logits, _ = model(x.to(device), model.initial_state(hp.batch, device))
    keep = y != -100
    return (logits.argmax(-1).cpu()[keep] == y[keep]).float().mean().item()


def train(hp: Hyper):
    torch.manual_seed(hp.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gen = torch.Generator().manual_seed(hp.seed)
    model = EchoNet(hp).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=hp.lr)
    for epoch in range(hp.epochs):
        model.train()
        x, y = streams(hp, gen)
        state = model.initial_state(hp.batch, device)
        total, n = 0.0, 0
        for xc, yc in chunks(x, y, hp.chunk):
            state = [h.detach() for h in state]
            logits, state = model(xc.to(device), state)
            loss = F.cross_entropy(logits.flatten(0, 1), yc.flatten().to(device), ignore_index=-100)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), hp.clip)
            optimizer.step()
            total += loss.item()
            n += 1
        print(f"epoch {epoch} loss {total / n:.4f} accuracy {evaluate(model, hp, device, gen):.3f}", flush=True)
    torch.save(model.state_dict(), "echo.pt")


def parse() -> Hyper:
    p = argparse.ArgumentParser()
    for field, default in Hyper()._asdict().items():
        p.add_argument(f"--{field}", type=type(default), default=default)
    return Hyper(**vars(p.parse_args()))


if __name__ == "__main__":
    train(parse())
