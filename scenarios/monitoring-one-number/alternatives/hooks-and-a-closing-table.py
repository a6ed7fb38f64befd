# Hooks collect the norm of what arrives at each weight; the table with the means comes after the last step.
from collections import defaultdict
from functools import partial

norms = defaultdict(list)


def collect(name, p):
    norms[name].append(p.grad.norm().item())


handles = [
    p.register_post_accumulate_grad_hook(partial(collect, name))
    for name, p in model.named_parameters()
    if p.dim() > 1
]
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

for handle in handles:
    handle.remove()
print(f"{'layer':<12} mean norm of its gradient")
for name, seen in sorted(norms.items(), key=lambda item: int(item[0].split(".")[0])):
    print(f"{name:<12} {sum(seen) / len(seen):.3e}")
