# One call clips all parameters; by then the head has made its step, with its whole gradient.
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
early = torch.optim.SGD(net.head.parameters(), lr=0.01)
opt = torch.optim.SGD(net.rnn.parameters(), lr=0.01)
for x, y in train_loader:
    loss = F.mse_loss(net(x), y)
    loss.backward()
    early.step()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=5.0)
    opt.step()
    net.zero_grad()
