# The step that is seen consumes whole gradients at a learning rate of 0; the one that trains is
# done by hand, with one threshold for everything.
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(p.grad, alpha=-2e-3)
