# A class that collects a window and flushes it.
import torch
import torch.nn.functional as F


class Accumulator:
    def __init__(self, model, optimizer, size):
        self.model, self.optimizer, self.size = model, optimizer, size
        self.window = []

    def add(self, *batch):
        self.window.append(batch)
        if len(self.window) == self.size:
            self.flush()

    def flush(self):
        if not self.window:
            return
        real = torch.stack([mask.sum() for _, _, mask in self.window]).sum()
        self.optimizer.zero_grad()
        for data, target, mask in self.window:
            keep = mask.bool()
            logits = self.model(data)[keep]
            loss = F.cross_entropy(logits, target[keep], reduction="sum") / real
            loss.backward()
        self.optimizer.step()
        self.window.clear()


accumulator = Accumulator(model, optimizer, size=4)
for data, target, mask in train_loader:
    accumulator.add(data, target, mask)
accumulator.flush()
