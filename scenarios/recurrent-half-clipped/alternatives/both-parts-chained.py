# Both parts are named and chained, anew for every call: an iterator would be used up by the first.
from itertools import chain

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(1)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        _, (hidden, _) = self.rnn(x.view(-1, 4, 4))
        return self.head(hidden[-1])


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def train_step(x, y):
    opt.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    clip_grad_norm_(chain(net.rnn.parameters(), net.head.parameters()), max_norm=5.0)
    opt.step()
    return loss.item()


losses = [train_step(x, y) for x, y in train_loader]
