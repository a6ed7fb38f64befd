# worker_init_fn gives each copy a generator of its own; the worker's seed differs in each epoch.
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, base):
        self.base = base
        self.rng = np.random.default_rng()

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        return x + 0.05 * torch.from_numpy(self.rng.standard_normal(x.shape)).float(), y


def own_generator(worker):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


loader = DataLoader(
    Noisy(dataset), batch_size, shuffle=True, num_workers=num_workers, worker_init_fn=own_generator
)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
