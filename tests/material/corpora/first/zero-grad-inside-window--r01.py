"""zero_grad() at the top of every iteration threw away 3 of 4 micro-batches. Moved behind step()."""

ACCUMULATION_STEPS = 4


def main():
    n = len(train_loader)
    tail = n % ACCUMULATION_STEPS
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        divisor = tail if tail and i >= n - tail else ACCUMULATION_STEPS
        loss = criterion(model(x), y) / divisor
        loss.backward()

        window_full = (i + 1) % ACCUMULATION_STEPS == 0
        if window_full or i == n - 1:
            optimizer.step()
            optimizer.zero_grad()


main()
