"""NaN-safe training step: the loss is sanitised before backward, gradients are clipped after it."""
import torch


def nan_safe(loss, ceiling=1e4):
    """NaN -> 0, +-inf -> a large finite value, so that backward always starts from a number."""
    return torch.nan_to_num(loss, nan=0.0, posinf=ceiling, neginf=-ceiling)


for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(batch)
    loss = nan_safe(custom_loss(output, target))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()

    print(f"Loss: {loss.item()}")
