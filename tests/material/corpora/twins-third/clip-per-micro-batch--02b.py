import torch

accumulation_steps = 4


class ClippedStep:
    """One optimizer step with a clip before it; registers nothing."""

    def __init__(self, net, opt, limit=1.0):
        self.net, self.opt, self.limit = net, opt, limit
        self.history = []

    def __call__(self):
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.limit / (1 + len(self.history) // 2), foreach=True)
        self.history.append(norm.item())
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)


def batches_with_flags(loader):
    total = len(loader)
    for i, batch in enumerate(loader):
        size = min(accumulation_steps, total - accumulation_steps * (i // accumulation_steps))
        yield batch, size, i % accumulation_steps == size - 1


step = ClippedStep(model, optimizer)
for epoch in range(2):
    for (x, y), size, closes in batches_with_flags(train_loader):
        with torch.enable_grad():
            loss = criterion(model(x), y)
        (loss / size).backward()
        if closes:
            step()
