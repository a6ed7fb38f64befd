"""Edges -> filled shapes with a small conditional GAN. One GradScaler serves both optimizers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, BATCH, STEPS = 24, 16, 30
L1_WEIGHT, CLIP = 20.0, 1.0
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
amp = device.type == "cuda"
torch.manual_seed(6)


def pairs(n):
    lin = torch.linspace(-1, 1, SIZE)
    y, x = torch.meshgrid(lin, lin, indexing="ij")
    c = torch.rand(n, 2, 1, 1) - 0.5
    r = 0.25 + 0.35 * torch.rand(n, 1, 1)
    d = ((x - c[:, 0]) ** 2 + (y - c[:, 1]) ** 2).sqrt()
    edge = torch.exp(-200 * (d - r) ** 2).unsqueeze(1)
    inside = torch.sigmoid(30 * (r - d)).unsqueeze(1)
    color = torch.rand(n, 3, 1, 1)
    # the colour follows from the radius, so it can be learned
    color = torch.cat([r.unsqueeze(1), 1 - r.unsqueeze(1), 0.5 * torch.ones(n, 1, 1, 1)], 1)
    return (edge * 2 - 1).to(device), (inside * color * 2 - 1).to(device)


class Generator(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, w, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(w, w * 2, 4, 2, 1),
                                  nn.InstanceNorm2d(w * 2), nn.LeakyReLU(0.2))
        self.up = nn.Sequential(nn.ConvTranspose2d(w * 2, w, 4, 2, 1), nn.InstanceNorm2d(w), nn.ReLU(),
                                nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.up(self.down(x))


def discriminator(w=16):
    return nn.Sequential(nn.Conv2d(4, w, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(w, w * 2, 4, 2, 1),
                         nn.LeakyReLU(0.2), nn.Conv2d(w * 2, 1, 3, 1, 1))


G, D = Generator().to(device), discriminator().to(device)
opt_g = torch.optim.SGD(G.parameters(), lr=0.02, momentum=0.5)
opt_d = torch.optim.SGD(D.parameters(), lr=0.02, momentum=0.5)
scaler = torch.amp.GradScaler(device.type, enabled=amp)


def gan_loss(logits, real):
    return F.mse_loss(logits.float(), torch.full_like(logits, float(real), dtype=torch.float32))


for step in range(1, STEPS + 1):
    edge, photo = pairs(BATCH)
    with torch.autocast(device.type, dtype=torch.float16, enabled=amp):
        fake = G(edge)
        d_loss = 0.5 * (gan_loss(D(torch.cat([edge, photo], 1)), True)
                        + gan_loss(D(torch.cat([edge, fake.detach()], 1)), False))
    opt_d.zero_grad(set_to_none=True)
    scaler.scale(d_loss).backward()
    scaler.step(opt_d)

    for p in D.parameters():
        p.requires_grad_(False)
    with torch.autocast(device.type, dtype=torch.float16, enabled=amp):
        adv = gan_loss(D(torch.cat([edge, fake], 1)), True)
        l1 = F.l1_loss(fake.float(), photo)
    opt_g.zero_grad(set_to_none=True)
    scaler.scale(adv + L1_WEIGHT * l1).backward()
    scaler.unscale_(opt_g)
    nn.utils.clip_grad_norm_(G.parameters(), CLIP)
    scaler.step(opt_g)
    for p in D.parameters():
        p.requires_grad_(True)
    scaler.update()

    if step % 10 == 0:
        print(f"step {step}: D {d_loss.item():.4f} adv {adv.item():.4f} L1 {l1.item():.4f}")
