"""Equal weight per micro-batch, padding masked inside the loss, constant divisor for the window."""
import torch.nn.functional as F

accumulation_steps = 4


def masked_loss(output, target, mask):
    """Padding contributes nothing: its losses are zeroed before averaging."""
    losses = F.cross_entropy(output, target, reduction="none")
    return (losses * mask).mean()


def windows(loader, size):
    total = len(loader)
    for i, batch in enumerate(loader):
        first = i - i % size
        count = min(size, total - first)
        yield batch, count, i + 1 == first + count


optimizer.zero_grad()
for (data, target, mask), count, last in windows(train_loader, accumulation_steps):
    loss = masked_loss(model(data), target, mask)
    (loss / count).backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
