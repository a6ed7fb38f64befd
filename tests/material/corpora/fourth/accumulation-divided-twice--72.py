"""
The slowness is not the price of a large batch. `loss / 4` takes the mean already and
`p.grad.div_(4)` takes it again, so every update is a quarter of what it should be. Do not raise
the rate; keep the one you had for the large batch.

Below I keep the mean of the window as an explicit running mean (Welford style), so that nobody
has to know in advance how many micro-batches a window will hold: the short one at the end of the
epoch comes out right by itself.
"""
import torch

accumulation_steps = 4

params = [p for p in model.parameters() if p.requires_grad]
mean = [torch.zeros_like(p) for p in params]


def apply_window():
    for p, m in zip(params, mean):
        p.grad = m.clone()
        m.zero_()
    optimizer.step()
    optimizer.zero_grad()


pending = False
for k, (x, y) in enumerate(train_loader, start=1):
    loss = criterion(model(x), y)
    grads = torch.autograd.grad(loss, params)
    # mean_k = mean_{k-1} + (g_k - mean_{k-1}) / k
    for m, g in zip(mean, grads):
        m.add_((g - m) / k)
    pending = True

    if k % accumulation_steps == 0:
        apply_window()
        pending = False

if pending:
    apply_window()
