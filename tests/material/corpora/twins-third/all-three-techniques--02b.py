import torch

accumulation_steps = 4
scaler = torch.amp.GradScaler("cuda")
amp = torch.autocast("cuda", dtype=torch.float16)
batches = list(train_loader)


def backward_window(window):
    total = 0.0
    for x, y in window:
        with amp:
            loss = criterion(model(x), y)
        scaler.scale(loss.div(len(window))).backward()
        total += float(loss.detach())
    return total / len(window)


@torch.no_grad()
def clip(max_norm=1.0):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    torch._foreach_mul_(grads, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    return norm


history = []
for epoch in range(2):
    for at in range(0, len(batches), accumulation_steps):
        optimizer.zero_grad(set_to_none=True)
        history.append(backward_window(batches[at : at + accumulation_steps]))
        clip()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
