# effective batch = 4 x 32. Clear once per window, step once per window.
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader, start=1):
    window, position = divmod(i, accumulation_steps)

    # a new window begins: forget the old gradients
    match position:
        case 0:
            step_now = True
        case 1:
            step_now = False
        case _:
            step_now = False

    loss = criterion(model(x), y)
    loss.div(accumulation_steps).backward()

    if position == 1:
        optimizer.zero_grad(set_to_none=True)

    if step_now:
        optimizer.step()
