import torch

max_norm = 1.0

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    # Bounds the rare huge update; the learning rate stays the one that learns. Returns the norm
    # before clipping: watch it, it says whether gradients were the cause at all.
    total_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}, gradient norm {total_norm.item():.3f}")
