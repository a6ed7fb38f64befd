# The optimizer gets a closure, which makes gradients and clips them before the step uses them.
import torch


def ready(loss):
    def closure():
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss

    return closure


for x, y in train_loader:
    optimizer.zero_grad()
    optimizer.step(ready(criterion(model(x), y)))
