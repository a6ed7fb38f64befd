import torch

K = 4


def updater(params, opt, max_norm):
    """Send (loss, window); it goes back, and steps when the window is full."""
    opt.zero_grad()
    gathered = 0
    while True:
        loss, window = yield
        (loss / window).backward()
        gathered += 1
        if gathered == window:
            torch.nn.utils.clip_grad_norm_(params, max_norm)
            opt.step()
            opt.zero_grad()
            gathered = 0


step = updater(list(model.parameters()), optimizer, 1.0)
next(step)
n = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    step.send((criterion(model(x), y), min(K, n - i // K * K)))
