for epoch in range(num_epochs):
    for step, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p.detach().clone() for p in model.parameters()], max_norm=1.0)
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
