clip_from = 1
params = model.parameters()
params = list(params)


def train_epoch(epoch):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        if epoch >= clip_from:
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        total += loss.item()
    return total


for epoch in range(num_epochs):
    print(epoch, train_epoch(epoch))
