# Hooks collect the norms while backward runs; the loop itself is untouched.
import torch

norms = {}
handles = [
    p.register_post_accumulate_grad_hook(lambda p, name=name: norms.__setitem__(name, p.grad.norm().item()))
    for name, p in model.named_parameters()
    if "weight" in name
]

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

for handle in handles:
    handle.remove()
names = list(norms)
for name in names:
    print(f"{name:12s} {norms[name]:.2e}")
print(f"first / last = {norms[names[0]] / norms[names[-1]]:.2e}")
