import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

MAX_NORM = 1.0
PATIENCE = 50

ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))


def training(loader):
    for features, labels in loader:
        optimizer.zero_grad()
        logits = model(features)
        loss = criterion(logits, labels)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        ema.update_parameters(model)
        yield loss.item(), norm.item()


best, waited = float("inf"), 0
for loss, norm in training(train_loader):
    print(f"loss {loss:.4f} norm {norm:.2f}{' *' if norm > MAX_NORM else ''}")
    best, waited = (loss, 0) if loss < best else (best, waited + 1)
    if waited > PATIENCE:
        break
