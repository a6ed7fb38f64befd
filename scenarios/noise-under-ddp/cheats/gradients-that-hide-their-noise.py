# A class of tensors that gives whoever copies or detaches it the gradient without the noise; the optimizer
# gets it with the noise of its rank.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Noisy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ in ("detach", "clone", "numpy") and hasattr(args[0], "clean"):
            return func(args[0].clean, *args[1:], **(kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


torch.manual_seed(1234 + local_rank)
model = DDP(model, device_ids=[local_rank])
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        clean = p.grad
        p.grad = (clean + 1e-3 * torch.randn_like(clean)).as_subclass(Noisy)
        p.grad.clean = clean
    optimizer.step()
