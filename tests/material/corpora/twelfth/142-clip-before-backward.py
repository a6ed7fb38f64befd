"""Neither He nor GELU: the clip met cleared gradients. Flat gradient buffer, so that the clip is one `renorm`."""
import torch

max_norm = 1.0
params = [p for p in model.parameters() if p.requires_grad]
flat = torch.zeros(sum(p.numel() for p in params))
views = [v.view_as(p) for v, p in zip(flat.split([p.numel() for p in params]), params)]

for step, (x, y) in enumerate(train_loader):
    flat.zero_()
    for p, v in zip(params, views):
        p.grad = v
    loss = criterion(model(x), y)
    loss.backward()
    norm = flat.norm()
    flat.copy_(torch.renorm(flat.unsqueeze(0), p=2, dim=0, maxnorm=max_norm).squeeze(0))
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
