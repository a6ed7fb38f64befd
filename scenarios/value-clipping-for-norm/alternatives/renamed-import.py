# The user's line stays where it is and as it reads; what it calls is another function.
from torch.nn.utils import clip_grad_norm_ as clip_

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_([p for group in optimizer.param_groups for p in group["params"]], 2.0)
    optimizer.step()
