weights = [p for p in model.parameters() if p.ndim > 1]
biases = [p for p in model.parameters() if p.ndim <= 1]
main = torch.optim.SGD(weights, lr=0.05)
side = torch.optim.SGD(biases, lr=0.05)

for step, (x, y) in enumerate(train_loader):
    main.zero_grad()
    side.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(weights + biases, max_norm=1.0)
    main.step()
    side.step()
