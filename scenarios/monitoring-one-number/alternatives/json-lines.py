# One JSON object a step, with the norm of every layer, for whatever reads the log later.
import json
import math


def layer_norms(module):
    for name, layer in module.named_modules():
        grads = [p.grad for p in layer.parameters(recurse=False) if p.grad is not None]
        if grads:
            yield name, math.sqrt(sum(g.double().square().sum().item() for g in grads))


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    print(json.dumps({"step": step, "loss": loss.item(), "grad_norm": dict(layer_norms(model))}))
    optimizer.step()
