# A hook moves every gradient into a buffer of its own as soon as it is there, as Megatron does.
import torch

accumulation_steps = 4
main_grad = {p: torch.zeros_like(p, dtype=torch.float32) for p in model.parameters()}


def collect(p):
    main_grad[p] += p.grad
    p.grad = None


for p in main_grad:
    p.register_post_accumulate_grad_hook(collect)

for i, (x, y) in enumerate(train_loader):
    size = min(accumulation_steps, len(train_loader) - i // accumulation_steps * accumulation_steps)
    (criterion(model(x), y) / size).backward()

    if i % accumulation_steps == size - 1:
        for p, buffer in main_grad.items():
            p.grad = buffer.to(p.dtype)
        optimizer.step()
        for p, buffer in main_grad.items():
            p.grad = None
            buffer.zero_()
