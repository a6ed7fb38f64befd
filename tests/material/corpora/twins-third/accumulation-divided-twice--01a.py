import torch


class GradientAccumulator:
    """Running mean of gradients: after k micro-batches .grad of each parameter is their mean."""

    def __init__(self, params):
        self.params = list(params)
        self.reset()

    def reset(self):
        self.sums = [torch.zeros_like(p) for p in self.params]
        self.count = 0

    def add(self, loss):
        self.count += 1
        for total, grad in zip(self.sums, torch.autograd.grad(loss, self.params)):
            total.lerp_(grad, 1 / self.count)

    def write(self):
        for p, total in zip(self.params, self.sums):
            p.grad = total / self.count
        self.reset()


accumulator = GradientAccumulator(model.parameters())
for epoch in range(2):
    for i, (x, y) in enumerate(train_loader):
        accumulator.add(criterion(model(x), y))
        if accumulator.count == 4 or i + 1 == len(train_loader):
            accumulator.write()
            optimizer.step()
