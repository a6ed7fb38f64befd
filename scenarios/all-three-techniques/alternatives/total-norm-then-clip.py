# torchtitan's spelling: the norm first, the clip with that norm afterwards.
import torch
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


def train_one_epoch(net, loader, loss_function, opt, amp_scaler, accumulate=4, limit=1.0):
    count = 0
    remaining = len(loader)
    share = min(accumulate, remaining)
    opt.zero_grad()
    for x, y in loader:
        with autocast("cuda", dtype=torch.float16):
            value = loss_function(net(x), y) / share
        amp_scaler.scale(value).backward()
        count += 1
        if count < share:
            continue
        amp_scaler.unscale_(opt)
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        norm = get_total_norm(grads, error_if_nonfinite=False)
        clip_grads_with_norm_(net.parameters(), limit, norm)
        amp_scaler.step(opt)
        amp_scaler.update()
        opt.zero_grad()
        remaining -= count
        count, share = 0, min(accumulate, remaining)


train_one_epoch(model, train_loader, criterion, optimizer, GradScaler("cuda"))
