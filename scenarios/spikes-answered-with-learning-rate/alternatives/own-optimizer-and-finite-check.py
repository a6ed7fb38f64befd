# An optimizer of its own, and losses that are not finite are skipped aloud.
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    if not torch.isfinite(loss):
        print("bad loss", step)
        continue
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), grad_norm.item())
