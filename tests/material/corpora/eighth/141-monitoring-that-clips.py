import torch

norms = {}


def record(name):
    def hook(p):
        norms[name] = p.grad.detach().norm().item()  # reads only

    return hook


handles = [p.register_post_accumulate_grad_hook(record(name)) for name, p in model.named_parameters()]

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    for name, norm in norms.items():
        print(f"step {step} grad_norm/{name} {norm:.5e}")

    optimizer.step()

for handle in handles:
    handle.remove()
