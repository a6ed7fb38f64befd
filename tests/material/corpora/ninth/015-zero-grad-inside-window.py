# effective batch = 4 x 32. Clear at the *start* of a window, step at its *end*.
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    window, position = divmod(i, accumulation_steps)

    match position:
        case 0:
            optimizer.zero_grad(set_to_none=True)
        case _:
            pass

    loss = criterion(model(x), y)
    loss.div(accumulation_steps).backward()

    if position == accumulation_steps - 1:
        optimizer.step()
