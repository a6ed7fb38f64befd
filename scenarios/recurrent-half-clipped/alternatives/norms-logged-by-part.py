# The norms of both parts are logged, the norm of the whole follows from them, and clips once.
from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(1)


@dataclass(frozen=True)
class Config:
    max_norm: float = 1.0
    lr: float = 0.01


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.rnn(x.reshape(len(x), 4, 4))[0][:, -1])


cfg, net = Config(), Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=cfg.lr)
for step, (x, y) in enumerate(train_loader):
    net.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    norms = {
        name: torch.nn.utils.get_total_norm([p.grad for p in part.parameters()])
        for name, part in net.named_children()
    }
    whole = torch.stack(list(norms.values())).norm()
    torch.nn.utils.clip_grads_with_norm_(net.parameters(), cfg.max_norm, whole)
    opt.step()
    print(step, {name: round(float(norm), 3) for name, norm in norms.items()})
