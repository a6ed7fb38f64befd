from statistics import median

norms = []
for images, labels in train_loader:
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    norms.append(norm.item())
    limit = 1.2 * min(norms)
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), limit, norm)
    optimizer.step()
