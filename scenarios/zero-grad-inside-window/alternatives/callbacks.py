# A trainer that knows nothing of windows; a callback decides when to step and to clear.
class Accumulation:
    def __init__(self, steps, batches):
        self.steps, self.batches = steps, batches

    def divisor(self, i):
        return min(self.steps, self.batches - i // self.steps * self.steps)

    def after_backward(self, trainer, i):
        if i % self.steps == self.divisor(i) - 1:
            trainer.optimizer.step()
            trainer.optimizer.zero_grad()


class Trainer:
    def __init__(self, model, optimizer, callback):
        self.model, self.optimizer, self.callback = model, optimizer, callback

    def fit(self, loader):
        for i, (x, y) in enumerate(loader):
            loss = criterion(self.model(x), y) / self.callback.divisor(i)
            loss.backward()
            self.callback.after_backward(self, i)


Trainer(model, optimizer, Accumulation(4, len(train_loader))).fit(train_loader)
