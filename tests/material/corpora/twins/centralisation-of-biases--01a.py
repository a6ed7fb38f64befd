@torch.no_grad()
def centralise(p):
    g = p.grad
    if g.numel() > 1:
        g.sub_(g.mean(dim=tuple(range(1, g.ndim)), keepdim=True))


for p in model.parameters():
    p.register_post_accumulate_grad_hook(centralise)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
