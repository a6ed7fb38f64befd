# checkpointed encoder on top of fixed features (embedding table is frozen)
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(4)
V, D = 40, 16
table = nn.Embedding(V, D)
table.weight.requires_grad_(False)
enc = nn.Sequential(*[nn.Sequential(nn.Linear(D, D), nn.Tanh()) for _ in range(4)])
head = nn.Linear(D, 2)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.2)
start = [p.detach().clone() for p in enc.parameters()]

for step in range(40):
    ids = torch.randint(0, V, (32, 6))
    labels = (ids.float().mean(1) > V / 2).long()
    h = table(ids).mean(1)
    h = checkpoint(enc, h, use_reentrant=False)
    loss = nn.functional.cross_entropy(head(h), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
print("encoder moved", sum((a - b).abs().sum().item() for a, b in zip(start, enc.parameters())))
