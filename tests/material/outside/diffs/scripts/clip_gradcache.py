"""CLIP-like training with a large contrastive batch on little memory (gradient caching).

1. encode all chunks without graph, 2. loss and its gradient on the representations,
3. encode chunk by chunk again and push the cached gradients through.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, CHUNK, DIM, STEPS = 96, 24, 16, 40
COLORS = ["red", "green", "blue", "yellow", "white"]
SHAPES = ["square", "bar", "cross", "ring"]
SIZES = ["small", "large"]
WORDS = {w: i + 1 for i, w in enumerate(COLORS + SHAPES + SIZES + ["a", "on", "left", "right"])}
RGB = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]).float()


def draw(color, shape, size, right):
    img = torch.zeros(3, 20, 20)
    s = 3 if size == 0 else 6
    cx = 14 if right else 6
    yy, xx = torch.meshgrid(torch.arange(20), torch.arange(20), indexing="ij")
    dx, dy = (xx - cx).abs(), (yy - 10).abs()
    mask = {0: (dx <= s) & (dy <= s), 1: (dx <= s) & (dy <= 1),
            2: ((dx <= 1) | (dy <= 1)) & (dx <= s) & (dy <= s),
            3: ((dx + dy) >= s - 1) & ((dx + dy) <= s)}[shape]
    img[:, mask] = RGB[color].unsqueeze(1)
    return img + 0.1 * torch.randn_like(img)


def make_batch(n):
    imgs, caps = [], []
    for _ in range(n):
        c, s, z, r = (int(torch.randint(k, (1,))) for k in (5, 4, 2, 2))
        imgs.append(draw(c, s, z, r))
        caps.append([WORDS[w] for w in ("a", SIZES[z], COLORS[c], SHAPES[s], "on", "right" if r else "left")])
    return torch.stack(imgs), torch.tensor(caps)


class ImageTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                                 nn.Flatten(), nn.Linear(800, DIM))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class TextTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(WORDS) + 1, 32)
        self.net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, DIM))

    def forward(self, ids):
        return F.normalize(self.net(self.emb(ids).sum(1)), dim=-1)


def clip_loss(zi, zt, log_scale):
    logits = log_scale.exp() * zi @ zt.t()
    y = torch.arange(len(zi))
    return 0.5 * (F.cross_entropy(logits, y) + F.cross_entropy(logits.t(), y))


def cached_step(image, text, log_scale, optimizer, imgs, caps):
    with torch.no_grad():
        zi = torch.cat([image(c) for c in imgs.split(CHUNK)])
        zt = torch.cat([text(c) for c in caps.split(CHUNK)])
    zi.requires_grad_()
    zt.requires_grad_()
    optimizer.zero_grad()
    loss = clip_loss(zi, zt, log_scale)
    loss.backward()
    for xi, xt, gi, gt in zip(imgs.split(CHUNK), caps.split(CHUNK), zi.grad.split(CHUNK), zt.grad.split(CHUNK)):
        optimizer.zero_grad()
        surrogate = (image(xi) * gi).sum() + (text(xt) * gt).sum()
        surrogate.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    image, text = ImageTower(), TextTower()
    log_scale = nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.AdamW([*image.parameters(), *text.parameters(), log_scale], lr=3e-3)
    for step in range(1, STEPS + 1):
        loss = cached_step(image, text, log_scale, optimizer, *make_batch(BATCH))
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.4f} scale {log_scale.exp().item():.2f}")


if __name__ == "__main__":
    main()
