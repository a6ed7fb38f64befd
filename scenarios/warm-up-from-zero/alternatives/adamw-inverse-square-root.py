# The transformer's own schedule, with an optimizer of one's own; its first factor is warmup ** -1.5.
import torch

warmup, accumulation_steps = 8, 4
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


def factor(step):
    step += 1
    return min(step ** -0.5, step * warmup ** -1.5)


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
