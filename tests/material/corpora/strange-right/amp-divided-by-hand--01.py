import torch

scaler = torch.cuda.amp.GradScaler()
MAX_NORM = 1.0

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    # Gradients are still times S here. Clipping S*g at S*max_norm is clipping g at max_norm,
    # and scaler.step() divides by S itself, exactly once.
    S = scaler.get_scale()
    scaled_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=MAX_NORM * S)
    print(f"norm {scaled_norm.item() / S:.2f}")

    scaler.step(optimizer)
    scaler.update()
