import torch, torch.nn as nn

z_dim, d_steps = 8, 2
G = nn.Sequential(nn.Linear(z_dim, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n=64):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) + 0.02 * torch.randn(n, 2)


for step in range(3000):
    for _ in range(d_steps):
        real, fake = real_batch(), G(torch.randn(64, z_dim)).detach()
        loss_d = bce(D(real), torch.ones(64, 1)) + bce(D(fake), torch.zeros(64, 1))

        loss_d.backward()
        opt_d.step()
    loss_g = bce(D(G(torch.randn(64, z_dim))), torch.ones(64, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 500 == 0:
        print(step, loss_d.item(), loss_g.item())
