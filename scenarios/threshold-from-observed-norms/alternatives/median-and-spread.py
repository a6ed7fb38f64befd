# Median plus sixteen median deviations, by torch alone; the clip is a function that the threshold is bound to.
import functools

import torch


def total_norm(network):
    return torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in network.parameters()]))


def clip(network, limit):
    torch.nn.utils.clip_grads_with_norm_(network.parameters(), limit, total_norm(network))


def norm_of(batch):
    model.zero_grad()
    criterion(model(batch[0]), batch[1]).backward()
    return total_norm(model)


norms = torch.stack([norm_of(batch) for batch in train_loader])
middle = norms.median()
spread = (norms - middle).abs().median()
bounded = functools.partial(clip, limit=(middle + 16 * spread).item())

for batch in train_loader:
    norm_of(batch)
    bounded(model)
    optimizer.step()
