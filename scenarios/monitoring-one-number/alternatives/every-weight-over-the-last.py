# All norms in one call; each weight's is shown as a share of the last one's, so that units cancel.
import torch

names, weights = zip(*((n, p) for n, p in model.named_parameters() if n.endswith("weight")))


@torch.no_grad()
def shares():
    norms = torch.stack(torch._foreach_norm([w.grad for w in weights]))
    return norms, (norms / norms[-1]).tolist()


for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    norms, relative = shares()
    print(f"step {step:4d}  last weight {norms[-1]:.3e}")
    for name, share in zip(names, relative):
        print(f"    {name:<12} {share:.3e} of it")
    optimizer.step()
    model.zero_grad()
