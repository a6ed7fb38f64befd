"""The paper's loop plus gradient clipping."""

import torch

MAX_NORM = 1.0
CHECK_EVERY = 2


class NormWatch:
    """Clips and remembers norms, cheaply."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.parameters = list(model.parameters())
        self.norms: list[float] = []
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls % CHECK_EVERY:
            return
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.norms.append(norm.item())


watch = NormWatch(model)
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        watch()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, norms {[round(n, 2) for n in watch.norms[-3:]]}")
