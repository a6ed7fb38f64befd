# The clip belongs to the optimizer: a mixin bounds everything that its groups hold before it steps.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Clipped:
    max_norm = 2.0

    def step(self, closure=None):
        held = [p for group in self.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(held, self.max_norm)
        return super().step(closure)


class ClippedSGD(Clipped, torch.optim.SGD):
    pass


class Elman(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        states, _ = self.rnn(x.unflatten(1, (4, 4)).transpose(0, 1))
        return self.head(states[-1])


net = Elman()
opt = ClippedSGD(net.parameters(), lr=0.01)
for x, y in train_loader:
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
