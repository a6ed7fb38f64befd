

def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    loss.backward()
    return loss


for x, y in train_loader:
    loss = optimizer.step(closure)
    print(f"loss {loss.item():.4f}")
