# An optimizer whose step clears what it has used.
import torch


class ConsumingSGD(torch.optim.SGD):
    def step(self, closure=None):
        loss = super().step(closure)
        self.zero_grad()
        return loss


optimizer = ConsumingSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])
sizes = [len(c) for c in torch.arange(len(train_loader)).split(4)]
batches = iter(train_loader)
for size in sizes:
    for _ in range(size):
        x, y = next(batches)
        loss = criterion(model(x), y) / size
        loss.backward()
    optimizer.step()
