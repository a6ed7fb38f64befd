from torch.utils.checkpoint import checkpoint


class Checkpointed(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.front, self.back = layers[:4], layers[4:]

    def forward(self, x):
        # a reentrant segment is differentiated only if one of its inputs is
        if self.training and torch.is_grad_enabled() and not x.requires_grad:
            x = x.detach().requires_grad_(True)
        return self.back(checkpoint(self.front, x, use_reentrant=True))


model = Checkpointed(model)
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()

    if (i + 1) % accumulation_steps:
        continue
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
