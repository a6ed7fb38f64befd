

def clip(opt, args, kwargs):
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    scale = torch.clamp(1.0 / (norm + 1e-6), max=1.0)
    torch._foreach_mul_(grads, scale)


optimizer.register_step_pre_hook(clip)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
