"""The head was never clipped, and with large targets most of the gradient sits there. Clip both parts."""
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
opt = torch.optim.SGD(net.parameters(), lr=0.01)

for x, y in train_loader:
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    for part in (net.rnn, net.head):
        torch.nn.utils.clip_grad_norm_(part.parameters(), max_norm=5.0)
    opt.step()
