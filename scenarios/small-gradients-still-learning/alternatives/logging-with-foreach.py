# torch._foreach_norm over all parameters, to a logger.
import logging

import torch

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("grad")


class GradientMonitor:
    def __init__(self, model, every=5):
        self.names, self.params = zip(*model.named_parameters())
        self.every, self.step = every, 0

    def __call__(self):
        if self.step % self.every == 0:
            norms = torch._foreach_norm([p.grad for p in self.params])
            for name, norm in zip(self.names, norms):
                logger.info("step %d %s %.3e", self.step, name, norm.item())
        self.step += 1


monitor = GradientMonitor(model)
for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    monitor()
    optimizer.step()
