import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
# random two-block graph
N = 60
lab = torch.arange(N) // 30
P = torch.where(lab[:, None] == lab[None], .3, .03)
A = (torch.rand(N, N) < P).float().triu(1); A = A + A.t() + torch.eye(N)
d = A.sum(1).rsqrt(); A = d[:, None] * A * d[None]
X = torch.eye(N)
train_idx = torch.tensor([0, 3, 31, 37])

class GCN(nn.Module):
    def __init__(s):
        super().__init__(); s.w1 = nn.Linear(N, 16); s.w2 = nn.Linear(16, 2)
    def forward(s, x): return A @ s.w2(F.dropout(F.relu(A @ s.w1(x)), .5, s.training))

m = GCN(); o = torch.optim.Adam(m.parameters(), 1e-2, weight_decay=5e-4)
for e in range(100):
    m.train(); o.zero_grad()
    l = F.cross_entropy(m(X)[train_idx], lab[train_idx])
    l.backward(); o.step()
    if e % 20 == 19:
        m.eval()
        with torch.no_grad(): acc = (m(X).argmax(1) == lab).float().mean()
        print(e + 1, l.item(), acc.item())
