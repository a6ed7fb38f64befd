"""Your loss averages over real rows already; (loss / num_real_samples) would divide by them twice and make full
micro-batches count less than empty ones. Dividing by 4 makes a row in a half-empty micro-batch weigh more. If every
real row is to weigh the same, add up sums and divide once by the number of real rows in the window.
"""
import torch
import torch.nn.functional as F

accumulation_steps = 4


class RowMean:
    """Accumulates sums of losses; turns the gradient into a mean over real rows before the step."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.rows = 0.0
        self.updates = 0
        optimizer.zero_grad()

    def add(self, losses, mask):
        (losses * mask).sum().backward()
        self.rows += mask.sum().item()

    @torch.no_grad()
    def step(self):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(max(self.rows, 1.0))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.updates += 1


mean = RowMean(model, optimizer)
for i, (data, target, mask) in enumerate(train_loader, start=1):
    output = model(data)
    mean.add(F.cross_entropy(output, target, reduction="none"), mask)
    if i % accumulation_steps == 0 or i == len(train_loader):
        mean.step()
print(f"{mean.updates} updates, {mean.rows:.0f} real rows")
