# torch.renorm shortens a row that is too long and leaves others alone: all gradients are one row.
import torch

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    row = torch.cat([grad.flatten() for grad in grads]).unsqueeze(0)
    torch.nn.utils.vector_to_parameters(torch.renorm(row, p=2, dim=0, maxnorm=1.0)[0], grads)
    optimizer.step()
