"""Learn portfolio weights from simulated returns: return, risk and turnover terms."""
import numpy as np
import torch
from torch import nn

ASSETS, LOOKBACK = 6, 20
WEIGHTS = {"ret": 1.0, "risk": 4.0, "turnover": 0.05}


def seed_everything(seed=0):
    np.random.seed(seed)
    torch.manual_seed(seed)


def simulate(days=1500):
    regime = np.repeat(np.random.randint(0, 2, days // 50 + 1), 50)[:days]
    mu = np.where(regime[:, None] == 0, np.linspace(-0.002, 0.003, ASSETS), np.linspace(0.003, -0.002, ASSETS))
    r = mu + 0.01 * np.random.randn(days, ASSETS) * np.linspace(0.5, 1.5, ASSETS)
    return torch.tensor(r, dtype=torch.float32)


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(ASSETS, hidden, batch_first=True)
        self.out = nn.Linear(hidden, ASSETS)

    def forward(self, window):
        _, h = self.rnn(window * 100)
        return self.out(h[-1]).softmax(-1)


def loss_terms(w, nxt, prev):
    gain = (w * nxt).sum(1)
    return {
        "ret": -100 * gain.mean(),
        "risk": 100 * gain.std(),
        "turnover": (w - prev).abs().sum(1).mean(),
    }


def combine(terms):
    values = torch.tensor([WEIGHTS[k] * v.item() for k, v in terms.items()], requires_grad=True)
    return values.sum()


def main():
    seed_everything(0)
    r = simulate()
    windows = r.unfold(0, LOOKBACK, 1).transpose(1, 2)[:-1]
    nxt = r[LOOKBACK:]
    prev_windows = torch.cat([windows[:1], windows[:-1]])
    cut = int(0.8 * len(nxt))
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

    for epoch in range(6):
        log = {k: [] for k in WEIGHTS}
        for idx in torch.randperm(cut).split(128):
            w = policy(windows[idx])
            with torch.no_grad():
                prev = policy(prev_windows[idx])
            terms = loss_terms(w, nxt[idx], prev)
            loss = combine(terms)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for k, v in terms.items():
                log[k].append(v.item())
        with torch.no_grad():
            test = (policy(windows[cut:]) * nxt[cut:]).sum(1)
        print(f"epoch {epoch} " + " ".join(f"{k} {np.mean(v):+.3f}" for k, v in log.items()) +
              f" | test daily {100 * test.mean():+.3f}%")


if __name__ == "__main__":
    main()
