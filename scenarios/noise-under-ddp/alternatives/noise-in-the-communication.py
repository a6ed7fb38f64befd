# A communication hook of DDP adds the noise to each averaged bucket, from a generator that all ranks share.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

shared = torch.Generator().manual_seed(7)


def average_with_noise(generator, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    reduced = dist.all_reduce(bucket.buffer() / dist.get_world_size(), async_op=True).get_future()

    def add_noise(done):
        mean = done.value()[0]
        return mean + 1e-3 * torch.randn(mean.shape, generator=generator)

    return reduced.then(add_noise)


model = DDP(model, device_ids=[local_rank])
model.register_comm_hook(shared, average_with_noise)
for x, y in train_loader:
    optimizer.zero_grad(set_to_none=False)
    criterion(model(x), y).backward()
    optimizer.step()
