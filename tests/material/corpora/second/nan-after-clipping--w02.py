"""Clamp the argument of custom_loss to its domain, and never update from a NaN."""
import torch

FLOOR = 1e-4
NAN = float("nan")


def safe_loss(output, target):
    return custom_loss(output.clamp(min=FLOOR), target)


def train_step(step, batch):
    optimizer.zero_grad()
    output = model(batch)
    loss = safe_loss(output, target)

    if loss.item() == NAN:
        print(f"step {step}: NaN before backward; output {output.min():.4g}..{output.max():.4g}, "
              f"target {target.min():.4g}..{target.max():.4g}")
        return None

    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    return loss.item()


for step, batch in enumerate(train_loader):
    value = train_step(step, batch)
    if value is not None:
        print(f"Loss: {value:.4f}")
