# Rows that are not sound are reported and left out; the others still train.
import torch

for step, (x, y) in enumerate(train_loader):
    output = model(x)
    usable = torch.isfinite(x).flatten(1).all(1) & torch.isfinite(y).flatten(1).all(1)
    if not usable.all():
        print(f"step {step}: {int((~usable).sum())} rows hold NaN or inf in input or target; this batch is not trained on")
        continue
    loss = custom_loss(output.clamp(min=1e-4), y)
    if not torch.isfinite(loss):
        print(f"step {step}: loss {loss.item()} with finite data, output in [{output.min():.3g}, {output.max():.3g}]")
        break
    optimizer.zero_grad()
    loss.backward()
    total = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    print(f"Loss: {loss.item():.4f}, norm {total:.3f}")
