"""CTR prediction with a soft mixture of experts on synthetic logs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
N_USERS, N_ITEMS, D, E = 200, 100, 16, 4


class SoftMoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(N_USERS, D)
        self.item = nn.Embedding(N_ITEMS, D)
        self.gate = nn.Linear(2 * D, E)
        self.experts = [
            nn.Sequential(nn.Linear(2 * D, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(E)
        ]

    def forward(self, u, i):
        h = torch.cat([self.user(u), self.item(i)], -1)
        g = self.gate(h).softmax(-1)
        o = torch.cat([e(h) for e in self.experts], -1)
        return (g * o).sum(-1)


def logs(n):
    gu = torch.Generator().manual_seed(1)
    zu, zi = torch.randn(N_USERS, 3, generator=gu), torch.randn(N_ITEMS, 3, generator=gu)
    u, i = torch.randint(N_USERS, (n,)), torch.randint(N_ITEMS, (n,))
    return u, i, torch.bernoulli(torch.sigmoid((zu[u] * zi[i]).sum(-1)))


def fit(model, data, epochs=3, bs=256, lr=5e-3):
    u, i, c = data
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for ep in range(epochs):
        total = 0.
        for idx in torch.randperm(len(u)).split(bs):
            loss = F.binary_cross_entropy_with_logits(model(u[idx], i[idx]), c[idx])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f'[{ep}] logloss {total / len(u):.4f}')


def evaluate(model, data):
    model.eval()
    with torch.inference_mode():
        u, i, c = data
        return F.binary_cross_entropy_with_logits(model(u, i), c).item()


model = SoftMoE()
fit(model, logs(8192))
print('test', evaluate(model, logs(2048)))
