"""hinge GAN for 1-D signals (TTUR, spectral norm, D clip), config in yaml"""
import sys
import yaml
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm as sn

DEFAULTS = {'steps': 60, 'n_dis': 2, 'bs': 64, 'lr_g': 1e-4, 'lr_d': 4e-4, 'clip': 1.0, 'len': 64, 'z': 16, 'seed': 0}


class Gen(nn.Module):
    def __init__(self, z, length):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(z, 128), nn.LeakyReLU(.2), nn.Linear(128, 128), nn.LeakyReLU(.2), nn.Linear(128, length), nn.Tanh())

    def forward(self, z):
        return self.f(z)


class Dis(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.f = nn.Sequential(sn(nn.Linear(length, 128)), nn.LeakyReLU(.2), sn(nn.Linear(128, 64)), nn.LeakyReLU(.2), sn(nn.Linear(64, 1)))

    def forward(self, x):
        return self.f(x).squeeze(1)


def real_batch(n, length):
    t = torch.linspace(0, 6.28, length)
    f = torch.rand(n, 1) * 2 + 1
    return torch.sin(f * t + torch.rand(n, 1) * 6.28)


def main():
    cfg = dict(DEFAULTS)
    if len(sys.argv) > 1:
        cfg.update(yaml.safe_load(open(sys.argv[1])))
    torch.manual_seed(cfg['seed'])
    G, D = Gen(cfg['z'], cfg['len']), Dis(cfg['len'])
    og = torch.optim.Adam(G.parameters(), cfg['lr_g'], betas=(0., .9))
    od = torch.optim.Adam(D.parameters(), cfg['lr_d'], betas=(0., .9))
    noise = lambda: torch.randn(cfg['bs'], cfg['z'])

    for step in range(cfg['steps']):
        for _ in range(cfg['n_dis']):
            od.zero_grad()
            fake = G(noise())
            d_loss = torch.relu(1 - D(real_batch(cfg['bs'], cfg['len']))).mean() + torch.relu(1 + D(fake)).mean()
            d_loss.backward()
            nn.utils.clip_grad_norm_(D.parameters(), cfg['clip'])
            od.step()

        g_loss = -D(G(noise())).mean()
        g_loss.backward()
        nn.utils.clip_grad_norm_(G.parameters(), cfg['clip'])
        og.step()
        og.zero_grad()
        if step % 20 == 0:
            print(f"{step:5d} d {d_loss.item():.3f} g {g_loss.item():.3f}")


if __name__ == '__main__':
    main()
