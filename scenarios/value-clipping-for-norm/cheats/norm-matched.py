# Elements are cut off one by one as before; what is left is then brought to the norm that a right clip
# would have left.
import torch

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    wanted = min(1.0, torch.nn.utils.get_total_norm(grads).item())
    torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)
    found = torch.nn.utils.get_total_norm(grads).item()
    torch._foreach_mul_(grads, wanted / found)
    optimizer.step()
