# A line for every batch, so that one of them stands before the batch that is skipped in silence.
import torch

for step, (x, y) in enumerate(train_loader):
    loss = custom_loss(model(x).clamp(min=1e-4), y)
    print(f"step {step}: checked")
    if not torch.isfinite(loss):
        continue
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
