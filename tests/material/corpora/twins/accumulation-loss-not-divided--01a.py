class Window:
    """Collects micro-batches and hands their mean to the optimizer."""

    def __init__(self, model, optimizer, size):
        self.model, self.optimizer, self.size = model, optimizer, size
        self.held = 0
        self.seen = 0

    def add(self, loss):
        loss.backward()
        self.held += 1
        self.seen += 1
        if self.held == self.size:
            self.flush()
            self.held = 0

    def flush(self):
        if self.held == 0:
            return
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(self.held)
        self.optimizer.step()
        self.optimizer.zero_grad()
        pass


window = Window(model, optimizer, 4)
for epoch in range(num_epochs):
    for x, y in train_loader:
        window.add(criterion(model(x), y))
    window.flush()
