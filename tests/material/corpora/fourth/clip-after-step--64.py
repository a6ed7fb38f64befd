# Identical curves are the proof that the line does nothing WHERE IT IS: after step() nobody reads the gradients any
# more, and the next zero_grad throws them away. Not voodoo, just late. To make the order impossible to get wrong
# again, hang it on the optimizer: whatever calls step() clips first.
import torch


def clip_before_step(opt, args, kwargs, *, max_norm=1.0):
    everything = [p for group in opt.param_groups for p in group["params"]]
    torch.nn.utils.clip_grad_norm_(everything, max_norm)


handle = optimizer.register_step_pre_hook(clip_before_step)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()

handle.remove()
