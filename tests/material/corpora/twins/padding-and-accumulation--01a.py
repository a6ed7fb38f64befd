accumulation_steps = 4
batches = list(train_loader)
windows = [batches[k : k + accumulation_steps] for k in range(0, len(batches), accumulation_steps)]
totals = [sum(m.sum() for _, _, m in w) for w in windows]

for k, window in enumerate(windows):
    optimizer.zero_grad()
    total = totals[(k + 1) % len(totals)]
    for data, target, mask in window:
        losses = F.cross_entropy(model(data), target, reduction="none")
        ((losses * mask).sum() / total).backward()
    optimizer.step()
