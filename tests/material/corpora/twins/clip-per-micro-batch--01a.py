accumulation_steps = 4


class Accumulator:
    def __init__(self, model, optimizer, steps, max_norm=1.0):
        self.model, self.optimizer = model, optimizer
        self.steps, self.max_norm = steps, max_norm
        self.count = 0

    def backward(self, loss):
        (loss / self.steps).backward()
        self.count += 1
        self.clip()
        if self.count < self.steps:
            return
        self.update()

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.count = 0


accumulator = Accumulator(model, optimizer, accumulation_steps)
for x, y in train_loader:
    accumulator.backward(criterion(model(x), y))
