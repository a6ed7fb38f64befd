"""Minimal data parallelism without DDP: broadcast once, average gradients by hand.

Launch with torchrun. The result with N ranks of batch B matches one process with batch N*B.
"""
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

DEFAULTS = dict(n=4096, features=24, hidden=96, batch=32, steps=300, lr=0.05, momentum=0.9, clip=1.0, seed=3)


class Regressor(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def broadcast_parameters(model):
    for t in list(model.parameters()) + list(model.buffers()):
        dist.broadcast(t.data, src=0)


def average_gradients(model):
    """Flat all-reduce: one message for the whole model."""
    params = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    flat /= dist.get_world_size()
    offset = 0
    for p in params:
        n = p.numel()
        p.grad.copy_(flat[offset : offset + n].view_as(p))
        offset += n


def synthetic(cfg):
    g = torch.Generator().manual_seed(cfg["seed"])
    x = torch.randn(cfg["n"], cfg["features"], generator=g)
    w = torch.randn(cfg["features"], generator=g)
    y = torch.sin(x @ w / 3) + 0.3 * x[:, 0] * x[:, 1] + 0.05 * torch.randn(cfg["n"], generator=g)
    return x, y


def main():
    cfg = dict(DEFAULTS)
    if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        with open(sys.argv[1]) as f:
            cfg.update(json.load(f))
    for k, v in dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29531").items():
        os.environ.setdefault(k, v)
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(cfg["seed"] + rank)
    x, y = synthetic(cfg)
    x_train, y_train, x_val, y_val = x[:-512], y[:-512], x[-512:].to(device), y[-512:].to(device)
    shard = torch.arange(rank, len(x_train), world)

    model = Regressor(cfg["features"], cfg["hidden"]).to(device)
    broadcast_parameters(model)
    opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])

    for step in range(cfg["steps"]):
        pick = shard[torch.randint(0, len(shard), (cfg["batch"],))]
        xb, yb = x_train[pick].to(device), y_train[pick].to(device)
        opt.zero_grad()
        loss = F.mse_loss(model(xb), yb)
        loss.backward()
        average_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        opt.step()
        if step % 50 == 0 or step == cfg["steps"] - 1:
            with torch.no_grad():
                model.eval()
                val = F.mse_loss(model(x_val), y_val).item()
                model.train()
            if rank == 0:
                print(f"step {step} train {loss.item():.4f} val {val:.4f}")

    if rank == 0:
        torch.save(model.state_dict(), "regressor.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
