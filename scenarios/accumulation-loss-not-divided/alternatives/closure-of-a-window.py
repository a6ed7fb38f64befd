# The optimizer is given a closure that runs all micro-batches of a window.
batches = list(train_loader)
accumulation_steps = 4

for start in range(0, len(batches), accumulation_steps):
    window = batches[start : start + accumulation_steps]

    def closure():
        optimizer.zero_grad()
        total = 0.0
        for x, y in window:
            loss = criterion(model(x), y) / len(window)
            loss.backward()
            total += loss.item()
        return total

    optimizer.step(closure)
