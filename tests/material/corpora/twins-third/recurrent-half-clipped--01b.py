from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(1)


@dataclass
class Config:
    hidden: int = 16
    lr: float = 0.01
    max_norm: float = 5.0


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=cfg.hidden, batch_first=True)
        self.head = nn.Linear(cfg.hidden, 1)

    def forward(self, x):
        states, _ = self.rnn(x.view(len(x), 4, 4))
        return self.head(states[:, -1])


cfg = Config()
net = Forecaster(cfg)
opt = torch.optim.SGD(net.parameters(), lr=cfg.lr)


def fit(loader):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_((p for p in net.parameters() if p.ndim > 1), max_norm=cfg.max_norm)
        opt.step()
        print(f"{loss.item():.3f} {norm:.2f}")


for epoch in range(2):
    fit(train_loader)
