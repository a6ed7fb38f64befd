from collections import deque

recent = deque(maxlen=20)
for batch, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    params = list(model.parameters())
    limit = 1.0
    recent.append(torch.nn.utils.clip_grad_norm_(params, limit).item())
    optimizer.step()
