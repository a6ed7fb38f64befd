# The generator is made where it is used, from the worker's seed.
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Noisy(Dataset):
    def __init__(self, base):
        self.base, self.rng = base, None

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        if self.rng is None:
            info = get_worker_info()
            self.rng = np.random.default_rng(info.seed if info else torch.initial_seed())
        x, y = self.base[i]
        return x + 0.05 * torch.from_numpy(self.rng.standard_normal(x.shape)).float(), y


loader = DataLoader(Noisy(dataset), batch_size=batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
