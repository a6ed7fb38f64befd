from contextlib import nullcontext

from torch.nn.parallel import DistributedDataParallel as DDP


class Accumulator:
    """Decides for each micro-batch whether it closes a window."""

    def __init__(self, ddp, steps):
        self.ddp, self.steps = ddp, steps
        self.seen = 0
        self.total = 0

    def start(self, total):
        self.seen, self.total = 0, total

    def __call__(self):
        context = nullcontext() if self.closes else self.ddp.no_sync()
        self.seen += 1
        return context

    @property
    def closes(self):
        return self.seen % self.steps == 0 or self.seen == self.total

    @property
    def size(self):
        full = self.total // self.steps * self.steps
        return self.steps if self.seen <= full else self.total - full


ddp = DDP(model, device_ids=[local_rank])
window = Accumulator(ddp, steps=4)
for epoch in range(2):
    window.start(len(train_loader))
    for x, y in train_loader:
        with window():
            prediction = ddp(x)
            loss = criterion(prediction, y) / window.size
            loss.backward()
        if window.closes:
            optimizer.step()
            optimizer.zero_grad()
