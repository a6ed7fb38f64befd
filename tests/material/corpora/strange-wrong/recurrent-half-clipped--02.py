"""GRU forecaster, the whole model clipped at 5."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Forecaster(nn.Module):
    """Four steps of four numbers, one forecast."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.all_parameters = list(self.parameters())
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(x.view(len(x), 4, 4))
        return self.head(states[:, -1])


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)

for step, (x, y) in enumerate(train_loader):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.all_parameters, max_norm=5.0)
    opt.step()
    print(f"step {step}: loss {loss.item():.3f}, norm {norm:.3f}")
