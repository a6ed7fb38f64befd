import torch
from torch import nn

torch.manual_seed(0)
T_TOTAL, CHUNK = 600, 30
t = torch.arange(T_TOTAL + 1).float()
series = torch.stack([torch.sin(0.05 * t + p) + 0.1 * torch.randn(T_TOTAL + 1) for p in torch.linspace(0, 3, 16)])  # (16, T+1)


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.cell = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        y, state = self.cell(x, state)
        return self.out(y), state


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
criterion = nn.MSELoss()

for epoch in range(4):
    state = None
    losses = []
    for s in range(0, T_TOTAL, CHUNK):
        x = series[:, s:s + CHUNK].unsqueeze(-1)
        y = series[:, s + 1:s + CHUNK + 1].unsqueeze(-1)
        pred, state = model(x, state)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        state = state.detach()
        losses.append(loss.item())
    scheduler.step()
    print(epoch, sum(losses) / len(losses))
