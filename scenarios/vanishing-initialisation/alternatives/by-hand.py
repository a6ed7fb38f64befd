# The formula itself, without a name for it.
import math

import torch

with torch.no_grad():
    for p in model.parameters():
        if p.dim() == 2:
            p.normal_(0.0, math.sqrt(2.0 / p.shape[1]))
        else:
            p.zero_()

for epoch in range(num_epochs):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
