# A little engine fires events; who wants to clip or to log listens to the one behind backward.
from collections import defaultdict

import torch

handlers = defaultdict(list)


def on(event):
    return lambda function: handlers[event].append(function) or function


@on("after_backward")
def clip(step, loss):
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")


@on("after_backward")
def update(step, loss):
    optimizer.step()
    optimizer.zero_grad()


for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    for handler in handlers["after_backward"]:
        handler(step, loss)
