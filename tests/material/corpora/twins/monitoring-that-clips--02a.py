@torch.no_grad()
def report(step):
    for name, p in model.named_parameters():
        flat = p.grad.flatten()
        flat /= flat.norm() + 1e-12
        counts = torch.histc(flat, bins=4, min=-1, max=1)
        print(f"step {step} grad_norm/{name} {p.grad.norm():.4f} {counts.int().tolist()}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    report(step)
    optimizer.step()
