"""A loop that says where a NaN comes from."""

import torch

FLOOR = 1e-4


def forward(batch):
    """Prediction kept inside the domain of the loss, and the loss."""
    output = model(batch).clamp(min=FLOOR)
    return output, custom_loss(output, target)


def prepare_update(max_norm=1.0):
    """Clear what is left of the last update and bound the gradient."""
    optimizer.zero_grad()
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)


for step, batch in enumerate(train_loader):
    output, loss = forward(batch)
    if not torch.isfinite(loss):
        print(f"step {step}: loss is {loss.item()}, inputs finite: {torch.isfinite(batch).all().item()}")
        continue
    prepare_update()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
