@torch.no_grad()
def centralise(p):
    g = p.grad
    g.sub_(g.mean(dim=0, keepdim=True))


for p in model.parameters():
    p.register_post_accumulate_grad_hook(centralise)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
