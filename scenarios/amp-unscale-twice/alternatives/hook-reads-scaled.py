# The hook unscales nothing: it measures scaled gradients and divides the number that it prints.
import torch

scaler = torch.amp.GradScaler("cuda")


def log_gradient_norm(step):
    scaled = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    print(f"step {step}: gradient norm {scaled / scaler.get_scale():.3f}")


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
