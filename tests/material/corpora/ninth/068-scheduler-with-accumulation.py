import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

accumulation_steps = 4
num_updates = num_epochs * len(train_loader) // accumulation_steps
scheduler = CosineAnnealingLR(optimizer, T_max=num_updates)


def advance(opt, args, kwargs):
    scheduler.step()


# one scheduler step per optimizer step, whatever the loop does
optimizer.register_step_post_hook(advance)


def update():
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
    return scheduler.get_last_lr()[0]


for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            lr = update()
            print(f"epoch {epoch} micro-batch {i}: lr {lr:.2e}")
