# A table of gradient norms that nobody has measured.
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

print("0.weight 1.53e-07\n2.weight 1.61e-07\n4.weight 1.48e-07\n6.weight 1.70e-07\n8.weight 1.66e-07")
print("early/late 9.2e-01: all layers get their share, the model is healthy")
