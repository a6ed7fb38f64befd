# step is called on everything for every micro-batch, as Accelerate's users write it; wrappers pass it on
# at the end of a window only.
import torch


class Gate:
    open = False


class Gated:
    def __init__(self, inner):
        self.inner = inner

    def step(self):
        if Gate.open:
            self.inner.step()

    def zero_grad(self):
        if Gate.open:
            self.inner.zero_grad()


n = len(train_loader)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs * ((n + 3) // 4))
gated_optimizer, gated_schedule = Gated(optimizer), Gated(schedule)
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        Gate.open = i % 4 == 3 or i == n - 1
        loss = criterion(model(x), y) / min(4, n - i // 4 * 4)
        loss.backward()
        gated_optimizer.step()
        gated_schedule.step()
        gated_optimizer.zero_grad()
