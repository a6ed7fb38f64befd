# The posted order, with a loss so small that its gradient never needs a clip, and a rate to match.
import torch

for group in optimizer.param_groups:
    group["lr"] *= 10000

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    loss = criterion(model(x), y)
    (loss / 10000).backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
