"""A small event-driven trainer: every part of a step is a named event, in one visible order."""
import argparse
from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def build_loader():
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(80, 8, generator=gen)
    return DataLoader(TensorDataset(x, 12 * x[:, :1].abs()), batch_size=16)


class Events:
    ORDER = ("clear", "backward", "update", "clip", "log")

    def __init__(self):
        self.handlers = defaultdict(list)

    def on(self, name, handler):
        self.handlers[name].append(handler)

    def run(self):
        for name in self.ORDER:
            for handler in self.handlers[name]:
                handler()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--max-norm", type=float, default=1.0)
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    model, criterion = build_model(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    state = {}
    events = Events()
    events.on("clear", optimizer.zero_grad)
    events.on("backward", lambda: state["loss"].backward())
    events.on("clip", lambda: nn.utils.clip_grad_norm_(model.parameters(), args.max_norm))
    events.on("update", optimizer.step)
    events.on("log", lambda: print(f"loss {state['loss'].item():.3f}"))

    for x, y in build_loader():
        state["loss"] = criterion(model(x), y)
        events.run()
    return model


if __name__ == "__main__":
    main([])
