# A window is fetched first and its samples are counted; each loss weighs as many as it stands for.
from itertools import islice

stream = iter(train_loader)
while window := list(islice(stream, 4)):
    samples = sum(len(x) for x, _ in window)
    optimizer.zero_grad()
    for x, y in window:
        loss = criterion(model(x), y)
        (loss * (len(x) / samples)).backward()
    optimizer.step()
