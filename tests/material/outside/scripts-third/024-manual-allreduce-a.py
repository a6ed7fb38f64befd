"""data parallel by hand: mp.spawn + gloo, every rank owns a shard"""
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn


def average_gradients(model):
    size = float(dist.get_world_size())
    for p in model.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= size


def broadcast_params(model):
    for t in list(model.parameters()) + list(model.buffers()):
        dist.broadcast(t.data, 0)


def run(rank, world, n_epochs=3):
    os.environ.setdefault('MASTER_ADDR', '127.0.0.1')
    os.environ.setdefault('MASTER_PORT', '29533')
    dist.init_process_group('gloo', rank=rank, world_size=world)
    torch.set_num_threads(1)

    g = torch.Generator().manual_seed(0)
    X = torch.randn(512, 10, generator=g)
    y = (X[:, :2].prod(1, keepdim=True) + X[:, 2:3]).tanh()
    X, y = X[rank::world], y[rank::world]

    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    broadcast_params(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    crit = nn.MSELoss()
    bs = 64 // world

    for ep in range(n_epochs):
        order = torch.randperm(len(X))
        ep_loss = 0.0
        for i in range(0, len(X), bs):
            j = order[i:i + bs]
            opt.zero_grad()
            loss = crit(model(X[j]), y[j])
            loss.backward()
            average_gradients(model)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            ep_loss += loss.item()
        if rank == 0:
            print('epoch', ep, 'loss', ep_loss / (len(X) // bs))
    dist.destroy_process_group()


if __name__ == '__main__':
    W = int(os.environ.get('WORLD', 2))
    mp.spawn(run, args=(W,), nprocs=W)
