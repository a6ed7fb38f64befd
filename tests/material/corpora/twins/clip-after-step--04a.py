

def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss


for x, y in train_loader:
    closure()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    loss = optimizer.step(closure)
    print(f"loss {loss.item():.4f}")
