def safe_loss(output, target):
    return custom_loss(output.clamp(min=1e-4), target)


for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(batch)
    loss = safe_loss(output, target)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    if not torch.isfinite(norm):
        print(f"step {step}: gradient not finite, loss {loss.item()}")
        continue
    print(f"Loss: {loss.item():.4f}")
