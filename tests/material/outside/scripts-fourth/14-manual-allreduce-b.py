"""Synchronous data-parallel SGD without DDP. Launches its own workers:

    python dist_sgd.py --world-size 4
"""
import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Partition:
    def __init__(self, data, index):
        self.data, self.index = data, index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        return self.data[self.index[i]]


class DataPartitioner:
    """splits a dataset into equal random chunks, same on all ranks"""

    def __init__(self, data, parts, seed=1234):
        idx = list(range(len(data)))
        random.Random(seed).shuffle(idx)
        per = len(data) // parts
        self.data = data
        self.partitions = [idx[i * per:(i + 1) * per] for i in range(parts)]

    def use(self, rank):
        return Partition(self.data, self.partitions[rank])


class Digits(torch.utils.data.Dataset):
    """8x8 noisy glyphs"""

    def __init__(self, n=4000, seed=0):
        g = torch.Generator().manual_seed(seed)
        protos = torch.randn(10, 1, 8, 8, generator=torch.Generator().manual_seed(7))
        self.y = torch.randint(0, 10, (n,), generator=g)
        self.x = protos[self.y] + 0.8 * torch.randn(n, 1, 8, 8, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3)
        self.conv2 = nn.Conv2d(10, 20, 3)
        self.fc1 = nn.Linear(20 * 4 * 4, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=0)


def sync_gradients(model):
    for param in model.parameters():
        if param.grad is None:
            continue
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)


def accuracy(model, data):
    model.eval()
    with torch.no_grad():
        pred = model(data.x).argmax(1)
    model.train()
    return (pred == data.y).float().mean().item()


def worker(rank, args):
    os.environ['MASTER_ADDR'] = '127.0.0.1'
    os.environ['MASTER_PORT'] = str(args.port)
    dist.init_process_group('gloo', rank=rank, world_size=args.world_size)
    torch.manual_seed(args.seed + rank)
    torch.set_num_threads(1)

    data = Digits(args.samples)
    part = DataPartitioner(data, args.world_size).use(rank)
    loader = torch.utils.data.DataLoader(part, batch_size=args.global_batch // args.world_size,
                                         shuffle=True, drop_last=True)
    test = Digits(1000, seed=1)

    model = Net()
    broadcast_parameters(model)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)

    for epoch in range(args.epochs):
        epoch_loss = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            sync_gradients(model)
            optimizer.step()
            epoch_loss += loss.item()
        mean = torch.tensor(epoch_loss / len(loader))
        dist.all_reduce(mean)
        mean /= args.world_size
        if rank == 0:
            print(f'epoch {epoch} loss {mean.item():.4f} acc {accuracy(model, test):.4f}', flush=True)

    if rank == 0 and args.out:
        torch.save(model.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == '__main__':
    ap = argparse.ArgumentParser()
    ap.add_argument('--world-size', type=int, default=2)
    ap.add_argument('--global-batch', type=int, default=128)
    ap.add_argument('--samples', type=int, default=4000)
    ap.add_argument('--epochs', type=int, default=10)
    ap.add_argument('--lr', type=float, default=0.05)
    ap.add_argument('--seed', type=int, default=1234)
    ap.add_argument('--port', type=int, default=29511)
    ap.add_argument('--out', default='')
    args = ap.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.world_size, join=True)
