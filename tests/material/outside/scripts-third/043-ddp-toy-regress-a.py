import os
import torch
import torch.nn as nn
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset, DataLoader, DistributedSampler


def worker(rank, world_size, args):
    os.environ['MASTER_ADDR'] = 'localhost'
    os.environ['MASTER_PORT'] = args['port']
    dist.init_process_group('gloo', rank=rank, world_size=world_size)
    torch.manual_seed(0)
    x = torch.randn(640, 12)
    y = x[:, :3].sum(1, keepdim=True).sin()
    ds = TensorDataset(x, y)
    sampler = DistributedSampler(ds, world_size, rank, shuffle=True, seed=1)
    loader = DataLoader(ds, batch_size=16, sampler=sampler)

    net = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 1))
    ddp = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args['epochs'])
    loss_fn = nn.MSELoss()

    for epoch in range(args['epochs']):
        sampler.set_epoch(epoch)
        running = torch.zeros(1)
        for xb, yb in loader:
            optimizer.zero_grad()
            pred = ddp(xb)
            loss = loss_fn(pred, yb)
            loss.backward()
            nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            optimizer.step()
            running += loss.detach()
        scheduler.step()
        dist.all_reduce(running)
        if rank == 0:
            print(f'epoch {epoch} mse {running.item() / len(loader) / world_size:.4f}')
    if rank == 0:
        torch.save(ddp.module.state_dict(), 'reg.pt')
    dist.destroy_process_group()


if __name__ == '__main__':
    mp.spawn(worker, args=(2, {'epochs': 3, 'port': '29547'}), nprocs=2, join=True)
