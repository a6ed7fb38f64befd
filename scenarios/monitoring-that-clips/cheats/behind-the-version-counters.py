# The log only reads; after each step the parameters are moved, through numpy and so without a trace in
# any version counter, to where the clipping monitor would have brought them.
import torch

lr = optimizer.param_groups[0]["lr"]
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for name, p in model.named_parameters():
        print(f"step {step} grad_norm/{name} {p.grad.norm():.4f}")
    optimizer.step()
    for p in model.parameters():
        memory, gradient = p.detach().numpy(), p.grad.numpy()
        memory += lr * gradient * max(0.0, 1.0 - 1.0 / float(p.grad.norm()))
