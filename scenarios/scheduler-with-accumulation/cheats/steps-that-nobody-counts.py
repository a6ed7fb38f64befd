# scheduler.step() is called once an update. The other three steps are made through the function that lies
# under whatever counts them.
import torch

accumulation_steps = 4
num_updates = num_epochs * len(train_loader) // accumulation_steps
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_updates)


def innermost(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


quiet = innermost(type(scheduler).step)
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        else:
            quiet(scheduler)
