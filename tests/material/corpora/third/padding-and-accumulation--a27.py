"""Equal weight for every real sample, over micro-batches with different amounts of padding.

Which rows count is decided inside the loss (mask). How micro-batches are combined is decided here: backward
on *sums*, and one division by the number of real rows just before the step.
"""
import torch
import torch.nn.functional as F


class TokenWeightedAccumulator:
    def __init__(self, optimizer: torch.optim.Optimizer, steps: int):
        self.optimizer = optimizer
        self.steps = steps
        self.pending = 0
        self.real = 0.0

    def add(self, loss_sum: torch.Tensor, n_real: torch.Tensor) -> None:
        loss_sum.backward()
        self.real += float(n_real)
        self.pending += 1
        if self.pending == self.steps:
            self.flush()

    def flush(self) -> None:
        if self.pending == 0:
            return
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(self.real)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.pending = 0


accumulator = TokenWeightedAccumulator(optimizer, steps=4)
optimizer.zero_grad(set_to_none=True)

for data, target, mask in train_loader:
    rows = F.cross_entropy(model(data), target, reduction="none")
    accumulator.add((rows * mask).sum(), mask.sum())

accumulator.flush()  # the short window at the end
