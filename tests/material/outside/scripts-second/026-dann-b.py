"""Domain-adversarial training with a gradient reversal layer."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.alpha, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.label = nn.Linear(24, 2)
        self.domain = nn.Sequential(nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 2))

    def forward(self, x, alpha):
        f = self.features(x)
        return self.label(f), self.domain(GradReverse.apply(f, alpha))


def source(n):
    x = torch.randn(n, 6)
    return x, (x[:, 0] + x[:, 1] > 0).long()


def target(n):
    return torch.randn(n, 6) * 1.3 + torch.tensor([0.0, 0, 2, 0, 0, 0])


torch.manual_seed(0)
model = DANN()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
steps = 40
for i in range(steps):
    p = i / steps
    alpha = 2.0 / (1.0 + torch.exp(torch.tensor(-10 * p)).item()) - 1
    xs, ys = source(32)
    xt = target(32)
    logits, ds = model(xs, alpha)
    _, dt = model(xt, alpha)
    task = F.cross_entropy(logits, ys)
    dom = F.cross_entropy(ds, torch.zeros(32, dtype=torch.long)) + F.cross_entropy(dt, torch.ones(32, dtype=torch.long))
    opt.zero_grad()
    (task + dom).backward()
    opt.step()
    if i % 10 == 0:
        print(f"{i} task {task.item():.4f} domain {dom.item():.4f}")
