# What the tutorial forgot: a bias has nothing to be centred over. With one output its bias has one entry, entry minus
# mean is 0, so it never learns and the predictions keep a constant offset. Subtracting the mean error afterwards
# hides it. Gradient centralisation: for every weight of shape (out, in, ...) subtract, per output unit, the
# mean over the remaining axes; leave vectors alone.
import torch


@torch.no_grad()
def centralize_(params):
    for p in params:
        g = p.grad
        if g is None or g.ndim < 2:  # biases, norm scales: untouched
            continue
        axes = tuple(range(g.ndim - 1))
        g.sub_(g.mean(dim=axes, keepdim=True))


def train_epoch(net, opt, loss_fn, loader):
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        centralize_(net.parameters())
        opt.step()
        total += loss.item()
    return total / max(1, len(loader))


print(f"mean loss {train_epoch(model, optimizer, criterion, train_loader):.4f}")
