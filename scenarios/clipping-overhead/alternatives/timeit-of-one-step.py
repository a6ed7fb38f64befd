# timeit over one whole step, with the clip as the only difference.
import timeit

import torch

x, y = next(iter(train_loader))


def one_step(max_norm):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


one_step(1.0)  # warm-up

best_with = min(timeit.repeat(lambda: one_step(1.0), number=5, repeat=3)) / 5
best_without = min(timeit.repeat(lambda: one_step(None), number=5, repeat=3)) / 5
print(f"with clipping {best_with * 1e6:.0f} us, without {best_without * 1e6:.0f} us a step")
