from itertools import islice

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

stream = iter(train_loader)
while len(window := list(islice(stream, accumulation_steps))) == accumulation_steps:
    *early, (x_last, y_last) = window

    with model.no_sync():
        for x, y in early:
            (criterion(model(x), y) / accumulation_steps).backward()

    (criterion(model(x_last), y_last) / accumulation_steps).backward()
    optimizer.step()
    optimizer.zero_grad()
