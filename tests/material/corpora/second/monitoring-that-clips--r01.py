"""clip_grad_norm_ returns a norm AND clips; with a single parameter it clips that parameter at 1.0 on its
own. No determinism flag needed. This logger only reads."""
import torch
from torch.nn.utils import get_total_norm


class GradientLogger:
    def __init__(self, model, write=print):
        self.names, self.params = zip(*model.named_parameters())
        self.write = write

    @torch.no_grad()
    def __call__(self, step):
        pairs = [(n, p.grad) for n, p in zip(self.names, self.params) if p.grad is not None]
        for (name, _), norm in zip(pairs, torch._foreach_norm([g for _, g in pairs])):
            self.write(f"step {step} grad_norm/{name} {norm.item():.4e}")
        self.write(f"step {step} grad_norm/total {get_total_norm([g for _, g in pairs]).item():.4e}")


logger = GradientLogger(model)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    logger(step)
    optimizer.step()
