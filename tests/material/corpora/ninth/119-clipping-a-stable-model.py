"""Signed off: no clipping. The norms are logged, so that we notice if that ever has to change."""
import statistics

import torch

history = []


def log_norm(parameters, max_norm=1.0, every=100):
    """Total gradient norm; warns about outliers."""
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()
    history.append(norm)
    if len(history) % every == 0:
        print(f"median {statistics.median(history):.2f}, max {max(history):.2f}")
    return norm


for images, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    log_norm(model.parameters())
    optimizer.step()
