import torch
from torch.utils.checkpoint import checkpoint


class Checkpointed(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.front, self.back = layers[:4], layers[4:]

    def forward(self, x):
        # Not reentrant: the batch needs no gradient for the layers inside to have theirs.
        hidden = checkpoint(self.front, x, use_reentrant=False)
        return self.back(hidden)


model = Checkpointed(model)
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    loss = criterion(model(x), y) / window
    loss.backward()

    if i + 1 == first + window:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
