import torch

max_norm = 1.0  # above ordinary norms (0.3), so that it acts on outliers only

norms = []
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    norms.append(norm.item())

clipped = sum(norm > max_norm for norm in norms)
print(
    f"median norm {sorted(norms)[len(norms) // 2]:.3f}, clipped {clipped} of {len(norms)} updates"
)
