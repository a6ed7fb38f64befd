"""Clip between backward() and step(), as it should have been from the start."""
import torch

MAX_NORM = 1.0

params = model.parameters()  # looked up once, not in every iteration

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()

    # 1. measure and clip
    grad_norm = torch.nn.utils.clip_grad_norm_(params, max_norm=MAX_NORM)
    # 2. only then update
    optimizer.step()

    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}  grad norm {float(grad_norm):.3f}")
