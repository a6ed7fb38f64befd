# Parameters are grouped by the module in front of their names; norm and clip are two calls.
from itertools import groupby

from torch.nn.utils import clip_grads_with_norm_, get_total_norm

named = list(model.named_parameters())
layers = [[p for _, p in of_one] for _, of_one in groupby(named, key=lambda n: n[0].rpartition(".")[0])]

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for layer in layers:
        norm = get_total_norm(p.grad for p in layer)
        clip_grads_with_norm_(layer, 1.0, norm)
    optimizer.step()
