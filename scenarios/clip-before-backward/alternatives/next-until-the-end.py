# A while loop with next() and a walrus; gradients are cleared behind the step, with None.
import torch

batches = iter(train_loader)
end = object()
step = 0

while (batch := next(batches, end)) is not end:
    x, y = batch
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    for p in model.parameters():
        p.grad = None
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
    step += 1
