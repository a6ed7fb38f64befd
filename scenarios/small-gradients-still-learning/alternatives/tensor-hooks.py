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
for name, norm in norms.items():
    print(f"{name:12s} {norm:.2e}")
