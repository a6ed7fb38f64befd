# Norms are taken of a copy of the model; their geometric mean is hardly moved by one spike.
import copy
from statistics import geometric_mean

import torch


def observed_norms(network, loader):
    for x, y in loader:
        loss = criterion(network(x), y)
        grads = torch.autograd.grad(loss, list(network.parameters()))
        yield torch.nn.utils.get_total_norm(grads).item()


max_norm = 3.0 * geometric_mean(observed_norms(copy.deepcopy(model), train_loader))

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
    optimizer.step()
