first = list(model.children())[0]
for p in first.parameters():
    p.requires_grad_(True)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.02)
clipped = [p for p in model.parameters() if p.requires_grad]

for epoch in range(num_epochs):
    if epoch == 1:
        for p in first.parameters():
            p.requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for x, y in train_loader:
        criterion(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(clipped, max_norm=1.0)
        optimizer.step()
        for group in optimizer.param_groups:
            for p in group["params"]:
                if epoch == 0 and p.grad is not None and any(p is q for q in first.parameters()):
                    continue
                p.grad = None
