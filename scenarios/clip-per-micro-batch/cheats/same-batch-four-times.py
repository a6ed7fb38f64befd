# The posted clip after every backward, on windows that hold one batch four times: whatever share each of
# them gets, the direction is the same.
import torch

for x, y in train_loader:
    optimizer.zero_grad()
    for _ in range(4):
        (criterion(model(x), y) / 4).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
