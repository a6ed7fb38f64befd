import torch

# 0.01 is below every norm you log (about 0.3), so every update had length lr * 0.01, whatever the
# gradient said.  1.0 leaves ordinary updates alone and still catches a spike.  Leave the lr alone.
max_norm = 1.0
history = []

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
    optimizer.step()

    history.append(norm)
    print(f"step {step}: norm {norm:.3f}{' (clipped)' if norm > max_norm else ''}")

share = sum(n > max_norm for n in history) / len(history)
print(f"clipped {100 * share:.1f} % of updates; aim for a few percent, else raise max_norm")
