import torch

accumulation_steps = 4
total = len(train_loader)
hook_state = {"calls": 0}


def clip_hook(opt, args, kwargs):
    hook_state["calls"] += 1
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)


handle = optimizer.register_step_pre_hook(clip_hook)
for epoch in range(2):
    for i, (x, y) in enumerate(train_loader):
        size = min(accumulation_steps, total - i // accumulation_steps * accumulation_steps)
        loss = criterion(model(x), y) / size
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == total:
            optimizer.step()
            optimizer.zero_grad()
handle.remove()
