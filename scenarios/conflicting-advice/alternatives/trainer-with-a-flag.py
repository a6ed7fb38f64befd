# Clipping is an option of the trainer, on by default.
from dataclasses import dataclass
from typing import Optional

import torch


@dataclass
class TrainArgs:
    max_grad_norm: Optional[float] = 1.0


class Trainer:
    def __init__(self, model, optimizer, criterion, args: TrainArgs):
        self.model, self.optimizer, self.criterion, self.args = model, optimizer, criterion, args
        self.grad_norms = []

    def training_step(self, inputs, labels):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(inputs), labels)
        loss.backward()
        if self.args.max_grad_norm:
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
            self.grad_norms.append(norm.item())
        self.optimizer.step()
        return loss.item()

    def train(self, loader):
        for inputs, labels in loader:
            self.training_step(inputs, labels)


trainer = Trainer(model, optimizer, criterion, TrainArgs())
trainer.train(train_loader)
print(f"{sum(n > 1.0 for n in trainer.grad_norms)} of {len(trainer.grad_norms)} updates were clipped")
