# A function called fit, with everything on one line.
import torch
def fit(net, opt, lossf, loader, epochs, *, clip=None):
    hist = []
    for ep in range(epochs):
        for xb, yb in loader:
            opt.zero_grad(); out = net(xb); l = lossf(out, yb); l.backward()
            gn = torch.nn.utils.clip_grad_norm_(net.parameters(), clip if clip is not None else float("inf"))
            hist.append((l.item(), gn.item())); opt.step()
    return hist
hist = fit(model, optimizer, criterion, train_loader, num_epochs, clip=1.0)
print(max(g for _, g in hist))
