# numpy's permutations, one of each epoch.
import numpy as np
from torch.utils.data import DataLoader

for epoch in range(num_epochs):
    order = np.random.default_rng([seed, epoch]).permutation(len(dataset)).tolist()
    for x, y in DataLoader(dataset, batch_size, sampler=order, num_workers=num_workers):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
