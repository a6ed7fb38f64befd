# %% [markdown]
# SimCLR on toy textures, then a linear probe

# %%
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
SIZE, CLASSES = 16, 6
EPOCHS, BATCH, LR, TEMP, WARMUP = 8, 128, 2e-3, 0.1, 16
N_UNLAB, N_PROBE, N_TEST = 2048, 240, 1000


# %% data: class = orientation of a grating, nuisance = frequency, phase, contrast, brightness
def textures(n, gen):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    y = torch.randint(CLASSES, (n,), generator=gen)
    ang = (y * torch.pi / CLASSES + 0.08 * torch.randn(n, generator=gen)).view(n, 1, 1)
    freq = 4 + 4 * torch.rand(n, 1, 1, generator=gen)
    phase = 2 * torch.pi * torch.rand(n, 1, 1, generator=gen)
    img = torch.sin(freq * (xx * ang.cos() + yy * ang.sin()) + phase)
    img = (0.4 + 0.6 * torch.rand(n, 1, 1, generator=gen)) * img
    return (img + 0.6 * torch.randn(img.shape, generator=gen)).unsqueeze(1), y


gen = torch.Generator().manual_seed(0)
x_unlab, _ = textures(N_UNLAB, gen)
x_probe, y_probe = textures(N_PROBE, gen)
x_test, y_test = textures(N_TEST, gen)


# %% augmentations, vectorised over the batch
def augment(x):
    n = x.size(0)
    dx, dy = torch.randint(-4, 5, (2,)).tolist()
    x = torch.roll(x, shifts=(dy, dx), dims=(2, 3))
    gain = 0.6 + 0.8 * torch.rand(n, 1, 1, 1)
    sign = torch.where(torch.rand(n, 1, 1, 1) < 0.5, -1.0, 1.0)
    x = sign * gain * x + 0.4 * torch.randn(n, 1, 1, 1) + 0.3 * torch.randn_like(x)
    keep = torch.ones_like(x)
    r, c = torch.randint(0, SIZE - 5, (2,)).tolist()
    keep[:, :, r:r + 5, c:c + 5] = 0
    return x * keep


# %% model
encoder = nn.Sequential(
    nn.Conv2d(1, 24, 5, 2, 2), nn.BatchNorm2d(24), nn.ReLU(),
    nn.Conv2d(24, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU(),
    nn.Conv2d(48, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(),
)
projector = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))


def nt_xent(z1, z2, temperature):
    n = z1.size(0)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)


params = list(encoder.parameters()) + list(projector.parameters())
optimizer = torch.optim.AdamW(params, lr=LR, weight_decay=1e-4)
steps_per_epoch = N_UNLAB // BATCH
total_steps = EPOCHS * steps_per_epoch
warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=WARMUP)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps - WARMUP)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cosine], milestones=[WARMUP])


# %% linear probe
def linear_probe():
    encoder.eval()
    with torch.no_grad():
        f_tr, f_te = encoder(x_probe), encoder(x_test)
    mu, sd = f_tr.mean(0), f_tr.std(0) + 1e-5
    f_tr, f_te = (f_tr - mu) / sd, (f_te - mu) / sd
    clf = nn.Linear(64, CLASSES)
    opt = torch.optim.LBFGS(clf.parameters(), lr=0.5, max_iter=60)

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(clf(f_tr), y_probe) + 1e-2 * clf.weight.pow(2).sum()
        loss.backward()
        return loss

    opt.step(closure)
    return (clf(f_te).argmax(1) == y_test).float().mean().item()


print(f"probe before training {linear_probe():.3f}")

# %% train
for epoch in range(EPOCHS):
    encoder.train()
    projector.train()
    t0, running = time.time(), 0.0
    order = torch.randperm(N_UNLAB)
    for k in range(steps_per_epoch):
        xb = x_unlab[order[k * BATCH:(k + 1) * BATCH]]
        views = [augment(xb) for _ in range(2)]
        z1, z2 = (projector(encoder(v)) for v in views)
        loss = nt_xent(z1, z2, TEMP)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 5.0)
        optimizer.step()
        scheduler.step()
        running += loss.item()
    print(f"epoch {epoch} nt-xent {running / steps_per_epoch:.4f} "
          f"lr {scheduler.get_last_lr()[0]:.5f} {time.time() - t0:.1f}s")

# %%
acc = linear_probe()
print(f"probe after training  {acc:.3f}")
torch.save({"encoder": encoder.state_dict(), "probe_acc": acc}, "simclr_encoder.pt")
