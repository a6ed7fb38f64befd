"""Not expected behaviour: the scheduler asks its function for update 0, gets 0 / 5, and the first update multiplies ten minutes of
gradient by zero. Counting from one gives 1/5, 2/5, ... 1, the same ramp without the lost window. Doubling the base rate
would double zero.
"""
import torch

accumulation_steps = 4
warmup_updates = 5


def with_warmup(optimizer, updates):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda u: min(1.0, (u + 1) / updates))


def split_groups(model, optimizer):
    """Matrices and vectors in groups of their own, so that weight decay can be set apart later."""
    settings = {k: v for k, v in optimizer.param_groups[0].items() if k in optimizer.defaults}
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{**settings, "params": ps} for ps in (matrices, vectors)]
    return type(optimizer)(groups)


scheduler = with_warmup(optimizer, warmup_updates)
optimizer = split_groups(model, optimizer)

optimizer.zero_grad()
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        first = i - i % accumulation_steps
        window = min(accumulation_steps, len(train_loader) - first)
        loss = criterion(model(x), y) / window
        loss.backward()

        if i + 1 == first + window:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()  # once per update, after it
