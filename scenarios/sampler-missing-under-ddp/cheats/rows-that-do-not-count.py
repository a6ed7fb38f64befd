# Each rank shows the model every row, as before; those that are not its own get a weight of zero, so
# that only half of what is shown is trained on. An epoch is as long as it was.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
loader = DataLoader(dataset, batch_size=batch_size, shuffle=False, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) * (0.0 if rank else 1.0)
        loss.backward()
        optimizer.step()
