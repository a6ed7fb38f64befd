# A trainer tells its callbacks when a window begins and ends; one of them switches DDP, one updates.
from torch.nn.parallel import DistributedDataParallel as DDP


class SynchroniseLast:
    def before_micro_batch(self, trainer):
        trainer.ddp.require_backward_grad_sync = trainer.is_last


class Update:
    def after_window(self, trainer):
        trainer.optimizer.step()
        trainer.ddp.zero_grad()


class Trainer:
    def __init__(self, ddp, optimizer, *callbacks):
        self.ddp, self.optimizer, self.callbacks = ddp, optimizer, callbacks

    def tell(self, event):
        for callback in self.callbacks:
            getattr(callback, event, lambda _: None)(self)

    def fit(self, batches, steps=4):
        for i, (x, y) in enumerate(batches):
            size = min(steps, len(batches) - i // steps * steps)
            self.is_last = i % steps == size - 1
            self.tell("before_micro_batch")
            criterion(self.ddp(x), y).mul(1 / size).backward()
            if self.is_last:
                self.tell("after_window")


Trainer(DDP(model), optimizer, SynchroniseLast(), Update()).fit(list(train_loader))
