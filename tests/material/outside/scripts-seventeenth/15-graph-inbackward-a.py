# GCN on a small graph. Optimizer in backward: each tensor has its own Adam, which steps and
# drops the gradient as soon as autograd has it ready -> never more than one .grad alive.
# Clipping therefore is per tensor (row vectors included), at LIMIT.
import json, pathlib
import torch

here = pathlib.Path(__file__).parent
G = json.loads((here / "data" / "graph.json").read_text())
x = torch.tensor(G["x"]); y = torch.tensor(G["y"]); n = len(y)
A = torch.eye(n)
for a, b in G["edges"]:
    A[a, b] = A[b, a] = 1
deg = A.sum(1)
A = A / (deg[:, None] * deg[None]).sqrt()
torch.manual_seed(0)
train = torch.randperm(n)[:40]
test = torch.ones(n, dtype=torch.bool); test[train] = False


class GCN(torch.nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.l1, self.l2, self.l3 = torch.nn.Linear(d, h), torch.nn.Linear(h, h), torch.nn.Linear(h, c)
        self.drop = torch.nn.Dropout(0.3)

    def forward(self, a, z):
        z = torch.relu(self.l1(a @ z))
        z = torch.relu(self.l2(a @ self.drop(z)))
        return self.l3(a @ self.drop(z))


LR, LIMIT = 0.01, 0.25
RATES = {"l1": 1.0, "l2": 1.0, "l3": 0.5}          # the output layer goes slower


def attach(model):
    """One optimizer for each parameter, fired by autograd. Returns name -> scheduler."""
    scheds = {}
    for name, p in model.named_parameters():
        opt = torch.optim.Adam([p], lr=LR * RATES[name.split(".")[0]], weight_decay=5e-4)
        scheds[name] = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 80)

        def fire(q, opt=opt):
            torch.nn.utils.clip_grad_norm_([q], LIMIT)
            opt.step()
            opt.zero_grad()

        p.register_post_accumulate_grad_hook(fire)
    return scheds


model = GCN(x.shape[1], 24, int(y.max()) + 1)
scheds = attach(model)
for ep in range(80):
    model.train()
    loss = torch.nn.functional.cross_entropy(model(A, x)[train], y[train])
    loss.backward()                                  # updates happen in here
    for s in scheds.values():
        s.step()
    if ep % 20 == 19:
        model.eval()
        with torch.no_grad():
            acc = (model(A, x).argmax(1) == y)[test].float().mean()
        print(f"{ep + 1:3d}  loss {loss.item():.4f}  test acc {acc:.3f}")
print("abs", round(sum(p.detach().abs().sum().item() for p in model.parameters()), 4))
