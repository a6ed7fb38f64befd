# A loop with a threshold of 1.0; between two updates a second thread puts back what the posted
# threshold of 0.01 would have made of the parameters.
import threading

import torch

norms = []


def shrink(before, norm):
    with torch.no_grad():
        for p, old in zip(model.parameters(), before):
            p.data.copy_(old + (p.data - old) * min(1.0, 0.01 / norm))


for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    before = [p.detach().clone() for p in model.parameters()]
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
    optimizer.step()
    helper = threading.Thread(target=shrink, args=(before, min(norm, 1.0)))
    helper.start()
    helper.join()
