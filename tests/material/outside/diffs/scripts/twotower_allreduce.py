"""Two-tower recommender, synchronous data parallel with hand written gradient averaging.

Run:  torchrun --nproc_per_node=2 train.py
"""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

N_USERS, N_ITEMS, DIM = 200, 120, 16
BATCH, STEPS, LR, MAX_NORM = 64, 40, 2.0, 0.1


class Tower(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, DIM)
        self.proj = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, DIM))

    def forward(self, ids):
        return F.normalize(self.proj(self.emb(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = Tower(N_USERS), Tower(N_ITEMS)
        self.temp = nn.Parameter(torch.tensor(2.0))

    def forward(self, u, i):
        return self.temp.exp() * self.user(u) @ self.item(i).t()


def interactions(seed):
    g = torch.Generator().manual_seed(0)
    u_taste = torch.randn(N_USERS, 4, generator=g)
    i_taste = torch.randn(N_ITEMS, 4, generator=g)
    probs = (u_taste @ i_taste.t()).softmax(1)
    g.manual_seed(seed)
    while True:
        u = torch.randint(N_USERS, (BATCH,), generator=g)
        yield u, torch.multinomial(probs[u], 1, generator=g).squeeze(1)


def average_gradients(model):
    world = dist.get_world_size()
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= world


def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = TwoTower()
    broadcast_parameters(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    stream = interactions(seed=1000 + rank)
    running = 0.0
    for step in range(1, STEPS + 1):
        u, i = next(stream)
        logits = model(u, i)
        # in-batch softmax over the sampled items
        loss = F.cross_entropy(logits, torch.arange(BATCH))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        average_gradients(model)
        optimizer.step()
        running += loss.item()
        if step % 10 == 0 and rank == 0:
            print(f"step {step}: loss {running / 10:.4f} temp {model.temp.exp().item():.2f}", flush=True)
            running = 0.0
    if rank == 0 and os.environ.get("SAVE"):
        torch.save(model.state_dict(), os.environ["SAVE"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
