"""Contrastive pretraining with a big logical batch (gradient caching).

The InfoNCE loss needs all pairs at once, so plain accumulation is not enough:
  1. embed the whole batch chunk by chunk without a graph
  2. compute the loss on the embeddings, keep d loss / d embedding
  3. embed again with a graph, chunk by chunk, and push the cached gradients through
"""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)

n_items = 1024
n_eval = 256
view_dim_a, view_dim_b, latent_dim = 40, 30, 8
batch_size, chunk_size = 256, 64
epochs = 8
lr, scale_lr = 2e-3, 1e-2
max_norm = 1.0
ckpt_file = "contrastive_last.pt"
device = "cuda" if torch.cuda.is_available() else "cpu"

# paired views of a shared latent
mix_a, mix_b = torch.randn(latent_dim, view_dim_a), torch.randn(latent_dim, view_dim_b)


def make_pairs(n):
    z = torch.randn(n, latent_dim)
    a = torch.tanh(z @ mix_a) + 0.2 * torch.randn(n, view_dim_a)
    b = torch.sin(z @ mix_b) + 0.2 * torch.randn(n, view_dim_b)
    return a.to(device), b.to(device)


train_a, train_b = make_pairs(n_items)
eval_a, eval_b = make_pairs(n_eval)


class Tower(nn.Module):
    def __init__(self, d_in, d_out=32, hidden=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, hidden), nn.LayerNorm(hidden), nn.GELU(),
                                 nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Tower(view_dim_a)
        self.b = Tower(view_dim_b)
        self.logit_scale = nn.Parameter(torch.tensor(1.5))

    def contrast(self, ea, eb):
        logits = self.logit_scale.exp().clamp(max=100) * ea @ eb.T
        target = torch.arange(len(ea), device=ea.device)
        return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))


def embed_no_graph(tower, x):
    with torch.no_grad():
        return torch.cat([tower(c) for c in x.split(chunk_size)])


def push_gradients(tower, x, grad):
    for c, g in zip(x.split(chunk_size), grad.split(chunk_size)):
        tower(c).backward(gradient=g)


def train_step(model, optimizer, xa, xb):
    ea = embed_no_graph(model.a, xa).requires_grad_()
    eb = embed_no_graph(model.b, xb).requires_grad_()
    loss = model.contrast(ea, eb)
    loss.backward()
    optimizer.zero_grad()
    push_gradients(model.a, xa, ea.grad)
    push_gradients(model.b, xb, eb.grad)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def retrieval(model):
    model.eval()
    sim = model.a(eval_a) @ model.b(eval_b).T
    target = torch.arange(n_eval, device=device)
    r1 = (sim.argmax(1) == target).float().mean().item()
    r5 = (sim.topk(5, dim=1).indices == target[:, None]).any(1).float().mean().item()
    model.train()
    return r1, r5


def main():
    model = DualEncoder().to(device)
    towers = list(model.a.parameters()) + list(model.b.parameters())
    optimizer = torch.optim.AdamW([{"params": towers, "weight_decay": 0.01},
                                   {"params": [model.logit_scale], "weight_decay": 0.0, "lr": scale_lr}], lr=lr)
    start = 0
    if os.path.exists(ckpt_file) and os.environ.get("RESUME"):
        state = torch.load(ckpt_file, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]

    for epoch in range(start, epochs):
        t0 = time.time()
        perm = torch.randperm(n_items, device=device)
        losses = [train_step(model, optimizer, train_a[idx], train_b[idx])
                  for idx in perm.split(batch_size) if len(idx) == batch_size]
        r1, r5 = retrieval(model)
        print(f"epoch {epoch + 1:2d} loss {sum(losses) / len(losses):.4f} R@1 {r1:.3f} R@5 {r5:.3f} "
              f"scale {model.logit_scale.exp().item():.2f} ({time.time() - t0:.1f}s)", flush=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, ckpt_file)
    return model


if __name__ == "__main__":
    main()
