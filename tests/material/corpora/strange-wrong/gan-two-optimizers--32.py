import torch
import torch.nn as nn
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
for step in range(20):
    real = torch.randn(12, 16)
    z = torch.randn(12, 8)
    pass
    fake = G(z).detach()
    loss_d = bce(D(real), torch.ones(12, 1)) + bce(D(fake), torch.zeros(12, 1))
    loss_d.backward()
    torch.nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(G(torch.randn(12, 8))), torch.ones(12, 1))
    loss_g.backward()
    torch.nn.utils.clip_grad_norm_(G.parameters(), 1.0)
    opt_g.step()
