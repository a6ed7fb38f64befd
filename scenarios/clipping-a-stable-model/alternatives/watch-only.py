# No clip; the norm is computed by hand and printed now and then.
for step, (images, labels) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    total = torch.norm(torch.stack([p.grad.detach().norm(2) for p in model.parameters()]), 2)
    if step % 100 == 0:
        print(f"{step} {loss.item():.4f} {total:.3f}")
    optimizer.step()
