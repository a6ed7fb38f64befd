import asyncio


async def produce(loader, queue):
    for batch in loader:
        await queue.put(batch)
    await queue.put(None)


async def consume(queue, accumulation_steps=4):
    in_window = 0
    optimizer.zero_grad()
    while (batch := await queue.get()) is not None:
        x, y = batch
        (criterion(model(x), y) / accumulation_steps).backward()
        in_window += 1
        if in_window == accumulation_steps:
            optimizer.step()
            optimizer.zero_grad()   # here, and nowhere inside of the window
            in_window = 0


async def main():
    queue = asyncio.Queue(maxsize=8)
    await asyncio.gather(produce(train_loader, queue), consume(queue))


asyncio.run(main())
