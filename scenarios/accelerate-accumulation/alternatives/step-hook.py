# The clip hangs on the optimizer itself, which only steps when the window is full.
import torch
from accelerate import Accelerator


def clip(opt, args, kwargs):
    torch.nn.utils.clip_grad_norm_([p for group in opt.param_groups for p in group["params"]], 1.0)


optimizer.register_step_pre_hook(clip)
accelerator = Accelerator(gradient_accumulation_steps=4)
net = accelerator.prepare(model)
opt = accelerator.prepare(optimizer)
loader = accelerator.prepare(train_loader)

for epoch in range(num_epochs):
    for x, y in loader:
        with accelerator.accumulate(net):
            accelerator.backward(criterion(net(x), y))
            opt.step()
            opt.zero_grad()
