# A seed of one's own, different in every epoch and worker.
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
        return x + 0.05 * torch.from_numpy(np.random.standard_normal(x.shape)).float(), y


def seeded(epoch):
    def init(worker_id):
        np.random.seed([seed, epoch, worker_id])

    return init


torch.manual_seed(seed)

for epoch in range(num_epochs):
    loader = DataLoader(
        Noisy(dataset), batch_size, shuffle=True, num_workers=2, worker_init_fn=seeded(epoch)
    )
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
