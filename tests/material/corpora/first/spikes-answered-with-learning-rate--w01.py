"""Keep the learning rate; clip when a spike comes in, leave ordinary updates alone."""
import torch

MAX_NORM = 1.0
SPIKE = 3.0  # times the running mean of the loss

running = None
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    value = loss.item()
    running = value if running is None else 0.95 * running + 0.05 * value
    is_spike = value > SPIKE * running
    if is_spike:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        print(f"step {step}: spike, gradient norm {norm.item():.2f} clipped to {MAX_NORM}")

    optimizer.step()
    print(f"step {step}: loss {value:.4f}")
