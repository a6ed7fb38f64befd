"""Clear once per window instead of once per micro-batch."""

ACCUMULATION_STEPS = 4


class Accumulator:
    def __init__(self, optimizer, steps):
        self.optimizer, self.steps, self.count = optimizer, steps, 0

    def backward(self, loss):
        (loss / self.steps).backward()
        if self.count == 0:
            self.optimizer.zero_grad()  # a new window starts from nothing
        self.count += 1
        if self.count == self.steps:
            self.optimizer.step()
            self.count = 0


accumulator = Accumulator(optimizer, ACCUMULATION_STEPS)
for x, y in train_loader:
    accumulator.backward(criterion(model(x), y))
