import csv
import torch
import torch.nn as nn

torch.manual_seed(0)
CHUNK = 25
N_STREAMS = 6


def read_series(path="data/load.csv"):
    with open(path, newline="") as fh:
        rd = csv.DictReader(fh)
        rows = [(float(r["hour"]) / 23.0, float(r["temp"]) / 20.0, float(r["load"])) for r in rd]
    return torch.tensor(rows)


class ForecastCell(nn.Module):
    """One step: reads (hour, temp, load) and gives load of the next hour."""

    def __init__(self, n_in=3, n_hidden=32):
        super().__init__()
        self.cell = nn.GRUCell(n_in, n_hidden)
        self.read = nn.Linear(n_hidden, 1)

    def init_state(self, n):
        return torch.zeros(n, self.cell.hidden_size)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.read(h).squeeze(-1), h


def streams(series, n):
    length = len(series) // n
    return series[: length * n].view(n, length, -1)


series = read_series()
train, valid = series[:1200], series[1200:]
tr = streams(train, N_STREAMS)
model = ForecastCell()
optim = torch.optim.Adam(model.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.StepLR(optim, step_size=10, gamma=0.5)

for epoch in range(20):
    model.train()
    h = model.init_state(N_STREAMS)
    epoch_loss, n_chunks = 0.0, 0
    for start in range(0, tr.size(1) - 1 - CHUNK + 1, CHUNK):
        loss = 0.0
        for t in range(start, start + CHUNK):
            h = h.detach()
            pred, h = model(tr[:, t], h)
            loss = loss + nn.functional.mse_loss(pred, tr[:, t + 1, 2])
        loss = loss / CHUNK
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        epoch_loss += loss.item()
        n_chunks += 1
    sched.step()

    model.eval()
    with torch.no_grad():
        h, err = model.init_state(1), []
        for t in range(len(valid) - 1):
            pred, h = model(valid[t:t + 1], h)
            err.append((pred - valid[t + 1, 2]).abs())
    if epoch % 4 == 3:
        print(f"ep {epoch:2d} train mse {epoch_loss / n_chunks:.4f} valid mae {torch.stack(err).mean():.4f}")
