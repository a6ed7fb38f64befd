"""Weights every real row equally without buffering: normalise by the window's count of real rows."""
import torch.nn.functional as F


def train_epoch(model, loader, optimizer, accumulation_steps=4):
    real_in_window = 0
    optimizer.zero_grad()
    for i, (data, target, mask) in enumerate(loader):
        output = model(data)
        losses = F.cross_entropy(output, target, reduction="none")
        real_in_window = real_in_window + mask.sum()

        loss = (losses * mask).sum() / real_in_window
        loss.backward()

        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
            real_in_window = 0


train_epoch(model, train_loader, optimizer)
