import torch

params = list(model.parameters())


def grad_norm(batch) -> torch.Tensor:
    x, y = batch
    grads = torch.autograd.grad(criterion(model(x), y), params)
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(list(grads))))


norms = torch.stack([grad_norm(batch) for batch in train_loader])
max_norm = 2 * torch.quantile(norms, 0.75, interpolation="lower").item()
print(f"max_norm = {max_norm:.2f}")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, max_norm)
    optimizer.step()
