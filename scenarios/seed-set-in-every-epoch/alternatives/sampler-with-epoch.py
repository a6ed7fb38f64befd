# A sampler with a generator that is made from seed and epoch.
import torch
from torch.utils.data import DataLoader, RandomSampler

for epoch in range(num_epochs):
    generator = torch.Generator().manual_seed(1000 * seed + epoch)
    sampler = RandomSampler(dataset, generator=generator)
    for x, y in DataLoader(dataset, batch_size, sampler=sampler, num_workers=num_workers):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
