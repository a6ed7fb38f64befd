"""clip_grad_norm_ clips as well as measures.  This logger computes the norms itself."""
import torch


@torch.no_grad()
def log_gradient_norms(model, step, writer=print):
    total = 0.0
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
        squared = p.grad.pow_(2).sum().item()
        writer(f"step {step} grad_norm/{name} {squared ** 0.5:.4e}")
        total += squared
    writer(f"step {step} grad_norm/total {total ** 0.5:.4e}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    log_gradient_norms(model, step)
    optimizer.step()
