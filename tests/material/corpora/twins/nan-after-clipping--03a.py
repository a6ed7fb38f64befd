def safe_loss(output, target):
    return custom_loss(output.clamp(min=1e-4), target)


for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(batch)
    loss = safe_loss(output, target)
    if step % 10 == 0 and not torch.isfinite(loss):
        print(f"step {step}: loss {loss.item()} before backward, batch: {torch.isfinite(batch).all().item()}")
        continue
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(norm):
        print(f"step {step}: gradient norm {norm.item()}")
        continue
    optimizer.step()
