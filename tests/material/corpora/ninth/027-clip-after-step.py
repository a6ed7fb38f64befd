"""optimizer.step(closure): everything that has to happen before the update lives in the closure."""
import torch

MAX_NORM = 1.0


def make_closure(x, y):
    def closure():
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=MAX_NORM)
        return loss

    return closure


for x, y in train_loader:
    optimizer.step(make_closure(x, y))
