"""Pre-norm residual blocks. The identity path carries the gradient past each branch, the norm keeps the
branch's input at unit size, and branches are scaled by 1/sqrt(blocks) so that their sum does not grow.
Adam, a clip or a larger rate cannot replace that: the signal was lost on the way forward, too."""
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, branch, scale=1.0):
        super().__init__()
        self.branch, self.scale = branch, scale

    def forward(self, x):
        return x + self.scale * self.branch(x)


def block(width, blocks):
    return Residual(
        nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
        ),
        scale=blocks**-0.5,
    )


width, blocks = 24, 12
model = nn.Sequential(
    nn.Linear(16, width),
    *(block(width, blocks) for _ in range(blocks)),
    nn.LayerNorm(width),
    nn.Linear(width, 3),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
