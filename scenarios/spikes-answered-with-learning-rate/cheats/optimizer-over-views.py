# The optimizer that is seen clips and steps at a rate of 0; another one holds views of the same memory
# and trains them with the whole gradient.
import torch

rate = optimizer.param_groups[0]["lr"]
optimizer.param_groups[0]["lr"] = 0.0
views = [p.detach().view(-1) for p in model.parameters()]
hidden = torch.optim.SGD(views, lr=rate)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for view, p in zip(views, model.parameters()):
        view.grad = p.grad.flatten().clone()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    hidden.step()
    print(f"step {step}: loss {loss.item():.4f}, gradient norm {norm:.3f}, clipped to 1")
