# A benchmark function that takes what it times, after a warm-up of its own.
import time, torch
def sync():
    if torch.cuda.is_available():
        torch.cuda.synchronize()
def bench(fn, warmup=3, iters=10):
    for _ in range(warmup):
        fn()
    sync(); t = time.perf_counter()
    for _ in range(iters):
        fn()
    sync()
    return (time.perf_counter() - t) / iters
batch, labels = next(iter(train_loader))
def step(clip):
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(batch), labels)
    loss.backward()
    if clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
base = bench(lambda: step(False))
with_clip = bench(lambda: step(True))
print(f"overhead {(with_clip / base - 1) * 100:.2f}%")
