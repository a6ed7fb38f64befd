"""Data parallel by hand: average gradients with all_reduce."""
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

WORLD = 2


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
        param.grad /= size


def partition(rank):
    g = torch.Generator().manual_seed(123)
    x = torch.randn(96, 3, generator=g)
    y = (x[:, :1] - 2 * x[:, 1:2]).tanh()
    return x[rank::WORLD], y[rank::WORLD]


def train(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29613", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(1234)
    model = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    x, y = partition(rank)
    for epoch in range(4):
        epoch_loss = 0.0
        for i in range(0, len(x), 12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[i:i + 12]), y[i:i + 12])
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        if rank == 0:
            print(f"rank 0 epoch {epoch}: {epoch_loss / 4:.5f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(train, nprocs=WORLD, start_method="fork")
