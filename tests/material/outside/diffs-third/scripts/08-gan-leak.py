import torch
from torch import nn

torch.manual_seed(0)
nz, nx = 8, 2
G = nn.Sequential(nn.Linear(nz, 64), nn.ReLU(), nn.Linear(64, nx))
D = nn.Sequential(nn.Linear(nx, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(128, 1), torch.zeros(128, 1)

for step in range(200):
    real = torch.randn(128, nx) * 0.3 + torch.tensor([2.0, -1.0])
    fake = G(torch.randn(128, nz))
    d_loss = bce(D(real), one) + bce(D(fake), zero)
    d_loss.backward(retain_graph=True)
    opt_d.step()
    opt_d.zero_grad()

    g_loss = bce(D(fake), one)
    g_loss.backward()
    opt_g.step()
    opt_g.zero_grad()
    if step % 50 == 0:
        print(step, d_loss.item(), g_loss.item())
