# A table of weights: gradient norm, weight norm, and their ratio, in scientific notation.
import torch


def report(model):
    print(f"{'parameter':<20}{'grad':>12}{'weight':>12}{'ratio':>12}")
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
        g, w = p.grad.norm().item(), p.detach().norm().item()
        print(f"{name:<20}{g:>12.3e}{w:>12.3e}{g / (w + 1e-12):>12.3e}")


for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        if i == len(train_loader) - 1:
            report(model)
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3e}")
