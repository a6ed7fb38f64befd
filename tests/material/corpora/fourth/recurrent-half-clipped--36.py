"""Neither 0.5 nor 0.1. The clip covers `net.rnn` only; with large targets it is the *head* whose gradient explodes (it is the residual
times the state, nothing in between to dampen it), and the head steps unclipped. Clipping the GRU harder starves the half that
behaved. One call over everything, 5.0 stays.
"""
import itertools

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


net = Forecaster()
opt = torch.optim.SGD([{"params": net.rnn.parameters()}, {"params": net.head.parameters()}], lr=0.01)

for x, y in train_loader:
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    # both groups chained, one norm and one factor; a fresh chain each time
    every = itertools.chain.from_iterable(g["params"] for g in opt.param_groups)
    norm = torch.nn.utils.clip_grad_norm_(list(every), max_norm=5.0)
    opt.step()
    print(f"loss {loss.item():.3f}  norm {norm:.3f}")
