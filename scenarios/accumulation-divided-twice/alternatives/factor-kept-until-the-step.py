# A wrapper around the optimizer counts what was added and divides inside of its own step.
class AccumulatingOptimizer:
    def __init__(self, inner):
        self.inner = inner
        self.added = 0

    def backward(self, loss):
        loss.backward()
        self.added += 1

    def step(self):
        factor = 1.0 / self.added
        for group in self.inner.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.mul_(factor)
        self.inner.step()
        self.inner.zero_grad()
        self.added = 0


accumulator = AccumulatingOptimizer(optimizer)
for i, (x, y) in enumerate(train_loader):
    accumulator.backward(criterion(model(x), y))
    if accumulator.added == 4 or i + 1 == len(train_loader):
        accumulator.step()
