for p in model.backbone.parameters():
    p.requires_grad_(True)
limits = {"backbone": 0.1, "head": 5.0}
optimizer = torch.optim.SGD(
    [{"params": model.head.parameters()}], lr=2e-3
)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for name, limit in limits.items():
        torch.nn.utils.clip_grad_norm_(getattr(model, name).parameters(), limit)
    optimizer.step()
