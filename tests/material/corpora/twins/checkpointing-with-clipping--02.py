from torch.utils.checkpoint import checkpoint_sequential


class Checkpointed(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        return checkpoint_sequential(self.layers, 3, x, use_reentrant=False)


model = Checkpointed(model)
accumulation_steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
