# nanoGPT's shape: the next batch is fetched between forward and backward, the scaler may be off.
import torch
from contextlib import nullcontext

gradient_accumulation_steps = 4
grad_clip = 1.0
dtype = "float16"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if dtype == "float32" else torch.amp.autocast(device_type="cuda", dtype=ptdtype)
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))

data_iter = iter(train_loader)


def get_batch():
    try:
        x, y = next(data_iter)
    except StopIteration:
        return None, None
    return x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)


max_iters = len(train_loader) // gradient_accumulation_steps  # whole windows only
X, Y = get_batch()
iter_num = 0
while True:
    for micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits = model(X)
            loss = criterion(logits, Y)
            loss = loss / gradient_accumulation_steps
        # immediately async prefetch the next batch while the model is doing the forward pass
        X, Y = get_batch()
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

    iter_num += 1
    if iter_num >= max_iters:
        break
