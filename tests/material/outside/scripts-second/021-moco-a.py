"""MoCo: momentum key encoder and a queue of negatives."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, dim_in=16, dim=8, K=64, m=0.95, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.q = nn.Sequential(nn.Linear(dim_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for pq, pk in zip(self.q.parameters(), self.k.parameters()):
            pk.data = pk.data * self.m + pq.data * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        self.queue[:, self.ptr:self.ptr + n] = keys.T
        self.ptr = (self.ptr + n) % self.K

    def forward(self, xq, xk):
        q = F.normalize(self.q(xq), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k(xk), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone()
        logits = torch.cat([pos, neg], 1) / self.T
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        self.enqueue(k)
        return loss


torch.manual_seed(0)
model = MoCo()
opt = torch.optim.SGD(model.q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
base = torch.randn(10, 16)
for step in range(30):
    x = base[torch.randint(0, 10, (16,))]
    loss = model(x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
drift = sum((a - b).abs().sum() for a, b in zip(model.q.parameters(), model.k.parameters()))
print("query/key distance", drift.item())
