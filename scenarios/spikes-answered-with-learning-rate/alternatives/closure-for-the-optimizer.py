# The optimizer calls a closure, which clears, goes forward and backward and clips before it returns.
import torch


def make_closure(x, y, log):
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        log["norm"] = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss

    return closure


for step, batch in enumerate(train_loader):
    log = {}
    loss = optimizer.step(make_closure(*batch, log))
    print(f"step {step}: loss {loss.item():.4f}, norm before clipping {log['norm'].item():.3f}")
