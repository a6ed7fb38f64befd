# The function that only computes: get_total_norm of one gradient at a time, and of all.
from torch.nn.utils import get_total_norm


def grad_stats(model):
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    yield "total", get_total_norm(grads.values())
    for name, grad in grads.items():
        yield name, get_total_norm([grad])


step = 0
for x, y in train_loader:
    loss = criterion(model(x), y)
    model.zero_grad()
    loss.backward()
    if step % 2 == 0:
        print(f"step {step}", {name: round(float(norm), 4) for name, norm in grad_stats(model)})
    optimizer.step()
    step += 1
