# What happens between backward and the next batch is a list of callbacks, in order.
import torch

scaler = torch.amp.GradScaler("cuda")


def clip_true_gradients():
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)


def update():
    scaler.step(optimizer)
    scaler.update()


after_backward = [clip_true_gradients, update, optimizer.zero_grad]

for x, y in train_loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    for callback in after_backward:
        callback()
