# A hook on the optimizer clips at 5, for all epochs.
import torch

MAX_NORM = 5.0


def clip_hook(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], MAX_NORM)


optimizer.register_step_pre_hook(clip_hook)

for epoch in range(num_epochs):
    total = 0.0
    for input_ids, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(input_ids), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(train_loader):.4f}")
