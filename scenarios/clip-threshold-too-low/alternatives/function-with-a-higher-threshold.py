# A training function with the threshold as a parameter.
def train_epoch(model, loader, optimizer, criterion, max_norm=5.0):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()

train_epoch(model, train_loader, optimizer, criterion)
