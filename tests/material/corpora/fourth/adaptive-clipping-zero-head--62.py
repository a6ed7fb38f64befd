# The formula in the article has one more symbol: max(||W||, eps). Without it a head of zeros is allowed
# a gradient of 0.1 * 0 = 0, stays zero, and as the head is zero nothing reaches the layers below.
# A learning rate times ten is ten times zero. eps = 1e-3 as in the paper, norms unit by unit.
import torch

head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)

LAMBDA, EPS = 0.1, 1e-3


def rows(t):
    # (out, ...) -> (out, n); a bias is one unit
    return t.reshape(len(t), -1) if t.dim() > 1 else t.reshape(1, -1)


@torch.no_grad()
def agc_(parameters):
    for p in parameters:
        if (g := p.grad) is None:
            continue
        G, W = rows(g), rows(p)
        budget = LAMBDA * W.norm(dim=1, keepdim=True).clamp_min(EPS)
        # length / budget, but never below one: small rows are divided by exactly 1
        excess = (G.norm(dim=1, keepdim=True) / budget).clamp_min(1.0)
        g.copy_((G / excess).view_as(g))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    agc_(model.parameters())
    optimizer.step()
