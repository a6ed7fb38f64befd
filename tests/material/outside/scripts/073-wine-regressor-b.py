"""Wine-quality style regression with plateau handling: back to the best weights, lower learning rate."""
import copy

import numpy as np
import torch
from torch import nn

SEED = 3
np.random.seed(SEED)
torch.manual_seed(SEED)


def table(n):
    x = np.random.normal(size=(n, 11)).astype(np.float32)
    q = 5.6 + 0.7 * x[:, 10] - 0.5 * x[:, 1] + 0.3 * np.tanh(2 * x[:, 9]) - 0.2 * x[:, 6] * x[:, 5]
    return torch.from_numpy(x), torch.from_numpy((q + 0.3 * np.random.normal(size=n)).astype(np.float32))


class Regressor:
    def __init__(self, lr=0.02, patience=2, factor=0.3):
        self.model = nn.Sequential(nn.Linear(11, 48), nn.ReLU(), nn.Linear(48, 1))
        nn.init.constant_(self.model[-1].bias, 5.6)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.loss_fn = nn.MSELoss()
        self.patience, self.factor = patience, factor

    def _epoch(self, x, y, batch_size):
        self.model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch_size):
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(x[idx]).squeeze(1), y[idx])
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(idx)
        return total / len(x)

    def evaluate(self, x, y):
        self.model.eval()
        with torch.no_grad():
            return self.loss_fn(self.model(x).squeeze(1), y).item()

    def fit(self, train, val, epochs=18, batch_size=8):
        history = {"loss": [], "val_loss": [], "lr": []}
        best, best_model, bad = float("inf"), copy.deepcopy(self.model), 0
        for epoch in range(epochs):
            loss, val_loss = self._epoch(*train, batch_size), self.evaluate(*val)
            lr = self.optimizer.param_groups[0]["lr"]
            for k, v in zip(history, (loss, val_loss, lr)):
                history[k].append(v)
            print(f"epoch {epoch:2d} loss {loss:.4f} val {val_loss:.4f} lr {lr:.4f}")
            if val_loss < best:
                best, best_model, bad = val_loss, copy.deepcopy(self.model), 0
                continue
            bad += 1
            if bad == self.patience:
                bad = 0
                self.model.load_state_dict(best_model.state_dict())
                for group in self.optimizer.param_groups:
                    group["lr"] *= self.factor
        return history


if __name__ == "__main__":
    reg = Regressor()
    hist = reg.fit(table(600), table(200))
    print(f"best val {min(hist['val_loss']):.4f}")
