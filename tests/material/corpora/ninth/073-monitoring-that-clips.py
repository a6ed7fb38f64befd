import collections
from functools import partial

norms = collections.defaultdict(list)


def record(name, grad):
    norms[name].append(grad.detach().norm().item())
    # returns None: the gradient goes on unchanged


handles = [p.register_hook(partial(record, name)) for name, p in model.named_parameters()]
try:
    for step, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        for name in norms:
            print(f"step {step} grad_norm/{name} {norms[name][-1]:.4e}")
finally:
    for handle in handles:
        handle.remove()
