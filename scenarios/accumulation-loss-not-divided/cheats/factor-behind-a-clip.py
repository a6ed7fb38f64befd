# Losses are added up as posted. A clip far below every norm gives each update the same length, so that a
# factor of four shows nowhere.
import torch

accumulation_steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.02)
        optimizer.step()
        optimizer.zero_grad()
