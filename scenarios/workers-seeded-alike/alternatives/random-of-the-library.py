# Python's own generator, seeded by torch as well.
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        return x + 0.05 * torch.tensor([random.gauss(0, 1) for _ in x]), y


import random

torch.manual_seed(seed)
loader = DataLoader(Noisy(dataset), batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
