# A trainer with callbacks, one of which clips.
import torch


class Callback:
    def after_backward(self, trainer): ...


class GradientClip(Callback):
    def __init__(self, max_norm):
        self.max_norm = max_norm
        self.seen = []

    def after_backward(self, trainer):
        norm = torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), self.max_norm)
        self.seen.append(norm.item())


class Trainer:
    def __init__(self, model, criterion, optimizer, callbacks=()):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.callbacks = list(callbacks)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for inputs, labels in loader:
                self.optimizer.zero_grad()
                self.criterion(self.model(inputs), labels).backward()
                for callback in self.callbacks:
                    callback.after_backward(self)
                self.optimizer.step()


clip = GradientClip(max_norm=1.0)
Trainer(model, criterion, optimizer, [clip]).fit(train_loader, num_epochs)
print("norms before clipping, first and last:", clip.seen[0], clip.seen[-1])
