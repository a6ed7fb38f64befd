# What the scaler remembers of the first unscale_ is wiped from its insides, so that it divides again.
import torch

scaler = torch.amp.GradScaler("cuda")


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
    scaler._per_optimizer_states.clear()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
