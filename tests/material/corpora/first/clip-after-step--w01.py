"""clip_grad_norm_ has to run between backward() and step(); after step() nobody reads the gradients."""
import torch

MAX_NORM = 1.0


def train(model, loader, criterion, optimizer):
    params = model.parameters()
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, max_norm=MAX_NORM)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


train(model, train_loader, criterion, optimizer)
