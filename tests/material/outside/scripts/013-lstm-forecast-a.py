"""Forecast a synthetic load curve at several horizons with one LSTM encoder."""
import numpy as np
import torch
from torch import nn

HORIZONS = (1, 6, 12, 24)
LOOKBACK = 48


def make_series(n=1600, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    s = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 0.1 * rng.standard_normal(n)
    return ((s - s.mean()) / s.std()).astype(np.float32)


def windows(series):
    last = len(series) - LOOKBACK - max(HORIZONS)
    x = np.stack([series[i:i + LOOKBACK] for i in range(last)])
    y = np.stack([[series[i + LOOKBACK + h - 1] for h in HORIZONS] for i in range(last)])
    return torch.from_numpy(x).unsqueeze(-1), torch.from_numpy(y)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.heads = nn.ModuleDict({str(h): nn.Linear(hidden, 1) for h in HORIZONS})

    def forward(self, x):
        out, _ = self.rnn(x)
        last = out[:, -1]
        return {h: head(last).squeeze(-1) for h, head in self.heads.items()}


class Experiment:
    def __init__(self, lr=0.05, batch_size=128, seed=0):
        torch.manual_seed(seed)
        x, y = windows(make_series())
        cut = int(0.8 * len(x))
        self.train_data = (x[:cut], y[:cut])
        self.test_data = (x[cut:], y[cut:])
        self.model = Forecaster()
        self.batch_size = batch_size
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.loss_fn = nn.MSELoss()

    def train_batch(self, x, y):
        self.optimizer.zero_grad()
        preds = self.model(x)
        total = 0.0
        for k, h in enumerate(self.model.heads):
            loss = self.loss_fn(preds[h], y[:, k]) / len(HORIZONS)
            # the heads share the encoder's graph, keep it until the last one
            loss.backward(retain_graph=k + 1 < len(HORIZONS))
            total = total + loss.item()
        self.optimizer.step()
        return total

    def run(self, epochs=4):
        x, y = self.train_data
        for epoch in range(epochs):
            losses = [self.train_batch(x[i], y[i]) for i in torch.randperm(len(x)).split(self.batch_size)]
            print(f"epoch {epoch}: train {np.mean(losses):.4f} test {self.test():.4f}")

    @torch.no_grad()
    def test(self):
        x, y = self.test_data
        preds = self.model(x)
        return float(np.mean([self.loss_fn(preds[h], y[:, k]).item() for k, h in enumerate(self.model.heads)]))


if __name__ == "__main__":
    Experiment().run()
