def safe_loss(output, target):
    return custom_loss(output.clamp(min=1e-4), target)


for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    loss = safe_loss(model(batch), target)
    if not torch.isfinite(loss):
        print(f"step {step}: loss is {loss.item()}, {torch.isnan(batch).sum().item()} NaN in the batch")
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
