# Both calls stay, of a scaler that is switched off and therefore never complains.
import torch

scaler = torch.amp.GradScaler("cuda", enabled=False)


def log_gradient_norm(step):
    scaler.unscale_(optimizer)
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"step {step}: gradient norm {total:.3f}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    log_gradient_norm(step)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
