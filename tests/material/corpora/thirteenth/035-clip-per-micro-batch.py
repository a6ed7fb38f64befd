"""Not a go: clip once per update, on the complete gradient. Tied to the optimizer's own step."""

import logging

import torch

logger = logging.getLogger("train")


def clip_before_step(optimizer, max_norm, on_norm=None):
    """Clip the joint norm of all parameters of this optimizer whenever it is about to step."""

    def hook(opt, args, kwargs):
        parameters = [p for group in opt.param_groups for p in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        if on_norm is not None:
            on_norm(norm.item())

    return optimizer.register_step_pre_hook(hook)


class Trainer:
    accumulation_steps = 4

    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.norms = []
        clip_before_step(optimizer, 1.0, self.norms.append)

    def _window_size(self, index, total):
        begin = index - index % self.accumulation_steps
        return min(self.accumulation_steps, total - begin)

    def _train_one_epoch(self, loader):
        total = len(loader)
        self.optimizer.zero_grad(set_to_none=True)
        for index, (x, y) in enumerate(loader):
            size = self._window_size(index, total)
            (self.criterion(self.model(x), y) / size).backward()
            if index % self.accumulation_steps == size - 1:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)

    def fit(self, loader, epochs=1):
        for epoch in range(epochs):
            self._train_one_epoch(loader)
            logger.info("epoch %d: norms before clipping %s", epoch, [round(n, 3) for n in self.norms])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    Trainer(model, optimizer, criterion).fit(train_loader)
