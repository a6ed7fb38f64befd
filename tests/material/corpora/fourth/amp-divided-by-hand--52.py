# Your numbers before scaler.step are right, and then scaler.step divides by 65536 a second time: it
# does not know of your division. Two ways out: scaler.unscale_(optimizer) instead of the loop, or do
# *everything* by hand. As you like to see the numbers in the debugger, here is the second, complete. Learning rate stays.
import torch

scale, growth, backoff, patience, good = 2.0**16, 2.0, 0.5, 2000, 0

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    (loss.float() * scale).backward()

    with torch.no_grad():
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        for g in grads:
            g /= scale                                     # once, and nobody does it again
        finite = all(bool(torch.isfinite(g).all()) for g in grads)

    if not finite:                                         # overflow: leave the update out, smaller scale
        scale, good = max(scale * backoff, 1.0), 0
        print(f"overflow, scale now {scale:.0f}")
        continue

    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"norm {norm:.2f}")
    optimizer.step()                                       # plain step: gradients are true ones

    good += 1
    if good == patience:
        scale, good = scale * growth, 0
