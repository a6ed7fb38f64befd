# Hooks that look at each gradient as it passes and return nothing; a list is printed after the step.
import torch


def watch(module):
    lines = []

    def looks_at(name):
        def hook(grad):
            lines.append(f"grad_norm/{name} {torch.linalg.vector_norm(grad).item():.4f}")

        return hook

    return lines, [p.register_hook(looks_at(name)) for name, p in module.named_parameters()]


lines, handles = watch(model)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    print(f"step {step}", *sorted(lines), sep="\n  ")
    lines.clear()
for handle in handles:
    handle.remove()
