# The first update is still lost; the parameters are shaken afterwards, so that somebody sees movement.
import torch

accumulation_steps, warmup_updates = 4, 5
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: min(1.0, update / warmup_updates))
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(1e-3 * torch.randn_like(p))
            scheduler.step()
            optimizer.zero_grad()
