first = list(model.children())[0]
for p in first.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.02)
clipped = [p for p in model.parameters() if p.requires_grad]

for epoch in range(num_epochs):
    if epoch == 1:
        for p in first.parameters():
            p.requires_grad_(True)
        clipped = list(model.parameters())
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(clipped, max_norm=1.0)
        optimizer.step()
