from functools import partial

from torch import nn
from torch.nn.utils import clip_grad_norm_


def bound_layer(module: nn.Module, max_norm: float) -> None:
    own = list(module.parameters(recurse=False))
    if own:
        clip_grad_norm_(own, max_norm)  # weight and bias together


bound = partial(bound_layer, max_norm=1.0)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    model.apply(bound)
    optimizer.step()
