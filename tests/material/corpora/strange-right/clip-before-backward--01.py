import torch

# Closure style: zero, forward, backward and clip, in that order, all that step() needs.
for step, (x, y) in enumerate(train_loader):

    norm = torch.tensor(float("nan"))

    def closure():
        global norm
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss

    loss = optimizer.step(closure)
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm.item():.3f}")
