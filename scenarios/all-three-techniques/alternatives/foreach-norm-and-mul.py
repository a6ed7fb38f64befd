# Clipping by hand: one norm over all gradients, one in-place multiplication of the list.
import torch

scaler = torch.amp.GradScaler("cuda")
accumulation_steps, max_norm = 4, 1.0
steps_in_epoch = len(train_loader)


def clip_all_(grads, limit):
    norms = torch._foreach_norm(grads, 2)
    total = torch.linalg.vector_norm(torch.stack(norms))
    coefficient = torch.clamp(limit / (total + 1e-6), max=1.0)
    torch._foreach_mul_(grads, coefficient)
    return total


for i, (data, labels) in enumerate(train_loader):
    window_start = (i // accumulation_steps) * accumulation_steps
    window_len = min(window_start + accumulation_steps, steps_in_epoch) - window_start
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        loss = criterion(model(data), labels)
    scaler.scale(loss.div(window_len)).backward()

    if i == window_start + window_len - 1:
        scaler.unscale_(optimizer)
        clip_all_([p.grad for p in model.parameters() if p.grad is not None], max_norm)
        scaler.step(optimizer)
        scaler.update()
        for p in model.parameters():
            p.grad = None
