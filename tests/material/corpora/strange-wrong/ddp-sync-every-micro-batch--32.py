import os, contextlib
import torch, torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = DDP(nn.Linear(32, 4).cuda(local_rank), device_ids=[local_rank])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ds = TensorDataset(torch.randn(512, 32), torch.randn(512, 4))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=16, sampler=sampler)
    loss_fn = nn.MSELoss()
    accum = 4
    for epoch in range(2):
        sampler.set_epoch(epoch)
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):
            x, y = x.cuda(local_rank), y.cuda(local_rank)
            last = (i + 1) % accum == 0
            ctx = contextlib.nullcontext()
            with ctx:
                loss = loss_fn(model(x), y) / accum
                loss.backward()
            if last:
                opt.step()
                opt.zero_grad()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
