# CUDA events around the clip and around the whole step.
import torch

warmup, measured = 3, 8
clip_ms = step_ms = 0.0
model.train()
for i, (x, y) in enumerate(train_loader):
    if i == warmup + measured:
        break
    begin, before, after, end = (torch.cuda.Event(enable_timing=True) for _ in range(4))
    begin.record()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    before.record()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    after.record()
    optimizer.step()
    end.record()
    torch.cuda.synchronize()
    if i >= warmup:
        clip_ms += before.elapsed_time(after)
        step_ms += begin.elapsed_time(end)

print(f"clip: {clip_ms / measured:.3f} ms of {step_ms / measured:.3f} ms a step = {100 * clip_ms / step_ms:.2f} %")
