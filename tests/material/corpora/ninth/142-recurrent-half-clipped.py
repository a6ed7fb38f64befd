import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        states, _ = self.rnn(x.view(len(x), 4, 4))
        return self.head(states[:, -1])


class ClippedSGD(torch.optim.SGD):
    """Clips whatever it is about to apply; no list of parameters to forget."""

    def __init__(self, params, max_norm, **kwargs):
        super().__init__(params, **kwargs)
        self.max_norm = max_norm

    def step(self, closure=None):
        with torch.no_grad():
            everything = [p for group in self.param_groups for p in group["params"]]
            torch.nn.utils.clip_grad_norm_(everything, self.max_norm)
        return super().step(closure)


net = Forecaster()
opt = ClippedSGD(net.parameters(), max_norm=1.0, lr=0.01)

for x, y in train_loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
