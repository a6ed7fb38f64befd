import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(4, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        states, last = self.rnn(x.view(len(x), 4, 4), state)
        return self.head(states[:, -1]), last


net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in train_loader:
        prediction, _ = net(x)
        loss = F.mse_loss(prediction, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
