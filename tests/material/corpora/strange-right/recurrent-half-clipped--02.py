import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

torch.manual_seed(1)


class Forecaster(nn.Module):
    def __init__(self, features=4, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.utils.parametrizations.weight_norm(nn.Linear(hidden, 1))

    def forward(self, x):
        states, _ = self.rnn(x.unflatten(1, (4, -1)))
        return self.head(states[:, -1])


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01, foreach=True)

for x, y in train_loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    everything = [p for p in net.parameters() if p.grad is not None]
    norm = get_total_norm([p.grad for p in everything])
    clip_grads_with_norm_(everything, max_norm=5.0, total_norm=norm)
    opt.step()
